package dev.verbena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.cm.AddressInfo;
import dev.verbena.cm.ConnectionParameters;
import dev.verbena.cm.ConnectionResources;
import dev.verbena.cm.ListenerOptions;
import dev.verbena.cm.PrivateData;
import dev.verbena.internal.Options;
import dev.verbena.net.NodeOptions;
import dev.verbena.support.FencedTest;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.Attribute;
import dev.verbena.verbs.CompletionChannel;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.CompletionQueueOptions;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DmaHandle;
import dev.verbena.verbs.DmaHints;
import dev.verbena.verbs.ParentDomainOptions;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueueCapabilities;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairAttributes;
import dev.verbena.verbs.QueuePairOptions;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.RateLimit;
import dev.verbena.verbs.RegionChange;
import dev.verbena.verbs.RegionOptions;
import dev.verbena.verbs.SharedReceiveQueue;
import dev.verbena.verbs.ThreadDomain;
import dev.verbena.verbs.WorkQueueOptions;
import dev.verbena.verbs.address.AddressVector;
import dev.verbena.verbs.address.Gid;
import dev.verbena.verbs.address.GlobalRoute;
import dev.verbena.verbs.device.QueuePairType;
import dev.verbena.verbs.flow.FlowMatch;
import dev.verbena.verbs.flow.FlowRule;
import dev.verbena.verbs.flow.FlowSpec;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each option is a value of its own: the row of its class has it as it was set, it changes no other one, and two copies are
 * equal. Reads the rows by the constants of their keys: that of {@code gidIndex()} is {@code GID_INDEX}.
 */
@FencedTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OptionValuesTest {
    /** Options that are another view of the same value: the one is read differently when the other changes. */
    private static final Map<String, Set<String>> VIEWS = Map.ofEntries(
            Map.entry(
                    "QueuePairOptions.capabilities",
                    Set.of("sendDepth", "receiveDepth", "sendSge", "receiveSge", "inlineSize")),
            Map.entry("QueuePairOptions.sharedReceiveQueue", Set.of("capabilities", "receiveDepth", "receiveSge")),
            Map.entry("QueuePairOptions.sourceNumber", Set.of("flags")),
            Map.entry(
                    "QueuePairAttributes.alternatePath",
                    Set.of("alternatePkeyIndex", "alternateTimeout", "alternateTimeoutCode")),
            Map.entry("CompletionQueueOptions.fields", Set.of("extended")),
            Map.entry("CompletionQueueOptions.parentDomain", Set.of("extended")),
            Map.entry("RegionOptions.address", Set.of("backing")),
            Map.entry("SharedReceiveQueueOptions.depth", Set.of("attributes")),
            Map.entry("SharedReceiveQueueOptions.sge", Set.of("attributes")),
            Map.entry("NodeOptions.secret", Set.of("protection", "isSealed", "offerBytes", "check")),
            Map.entry("NodeOptions.protection", Set.of("isSealed", "offerBytes", "check")));

    /** The keys of options that have another name than their method. */
    private static final Map<String, String> KEYS = Map.of(
            "AddressVector.staticRate", "staticRateCode",
            "NodeOptions.secret", "secrets",
            "QueuePairOptions.sendDepth", "capabilities",
            "QueuePairOptions.receiveDepth", "capabilities",
            "QueuePairOptions.sendSge", "capabilities",
            "QueuePairOptions.receiveSge", "capabilities",
            "QueuePairOptions.inlineSize", "capabilities");

    private static final Set<String> TAKE_ANY_NUMBER =
            Set.of("QueuePairAttributes.qkey", "QueuePairAttributes.rateLimit", "RegionOptions.address");

    /** Options whose values the text leaves out, or whose values have the same text. */
    private static final Map<String, Set<String>> NOT_IN_TEXT = Map.of(
            "CompletionQueueOptions", Set.of("channel", "parentDomain"),
            "ConnectionResources", Set.of("completionQueue", "domain", "sharedReceiveQueue"),
            "FlowRule", Set.of("specs"),
            "NodeOptions", Set.of("admit", "secret", "token"),
            "ParentDomainOptions", Set.of("threadDomain"),
            "QueuePairAttributes", Set.of("alternateTimeoutCode"),
            "QueuePairOptions", Set.of("sharedReceiveQueue"),
            "RegionChange", Set.of("domain"),
            "RegionOptions", Set.of("hints"),
            "WorkQueueOptions", Set.of("queue"));

    private final VerbsArena arena = VerbsArena.ofShared();
    private final Map<Class<?>, List<Object>> samples = new HashMap<>();
    private final Map<String, Object> bases = new TreeMap<>();

    @BeforeAll
    void makeSamples() {
        Context context = TestDevice.get().open(arena);
        List<Object> domains = List.of(context.allocateProtectionDomain(), context.allocateProtectionDomain());
        List<Object> queues = List.of(context.createCompletionQueue(16), context.createCompletionQueue(16));
        ProtectionDomain domain = (ProtectionDomain) domains.getFirst();
        CompletionQueue queue = (CompletionQueue) queues.getFirst();
        samples.put(ProtectionDomain.class, domains);
        samples.put(CompletionQueue.class, queues);
        samples.put(
                CompletionChannel.class, List.of(context.createCompletionChannel(), context.createCompletionChannel()));
        samples.put(
                SharedReceiveQueue.class,
                List.of(
                        domain.createSharedReceiveQueue(SharedReceiveQueue.basic()),
                        domain.createSharedReceiveQueue(SharedReceiveQueue.basic())));
        samples.put(
                DmaHandle.class,
                List.of(context.allocateDmaHandle(DmaHints.none()), context.allocateDmaHandle(DmaHints.none())));
        samples.put(ThreadDomain.class, List.of(context.allocateThreadDomain(), context.allocateThreadDomain()));
        samples.put(boolean.class, List.of(true, false));
        samples.put(Duration.class, codedDurations());
        samples.put(QueueCapabilities.class, List.of(QueueCapabilities.of(11, 12), QueueCapabilities.of(13, 14)));
        samples.put(PrivateData.class, List.of(PrivateData.of(new byte[] {1}), PrivateData.of(new byte[] {2})));
        samples.put(
                AddressVector.class,
                List.of(AddressVector.of(1).serviceLevel(3), AddressVector.of(1).serviceLevel(4)));
        Gid gid = Gid.from(new byte[16]);
        samples.put(GlobalRoute.class, List.of(new GlobalRoute(gid, 1, 2, 3, 4), new GlobalRoute(gid, 5, 6, 7, 8)));
        List<Object> addresses = List.of(new InetSocketAddress("127.0.0.1", 1), new InetSocketAddress("127.0.0.1", 2));
        samples.put(SocketAddress.class, addresses);
        samples.put(InetSocketAddress.class, addresses);
        BiPredicate<Object, Object> nobody = (peer, data) -> false;
        BiPredicate<Object, Object> everybody = (peer, data) -> true;
        byte[] secret = "of sixteen bytes".getBytes(StandardCharsets.US_ASCII);
        samples.put(byte[].class, List.of(new byte[] {1}, new byte[] {2, 3}, secret, new byte[16]));
        samples.put(BiPredicate.class, List.of(nobody, everybody));
        MemorySegment memory = Arena.global().allocate(128);
        samples.put(MemorySegment.class, List.of(memory.asSlice(0, 64), memory.asSlice(64, 64)));
        samples.put(
                FlowSpec.class,
                List.of(FlowMatch.ethernet(), FlowMatch.ethernet().vlan(7)));
        for (Object base : List.of(
                NodeOptions.defaults(),
                ListenerOptions.defaults(),
                ConnectionResources.defaults(),
                ConnectionParameters.defaults(),
                AddressInfo.hints(),
                CompletionQueueOptions.of(16),
                DmaHints.none(),
                ParentDomainOptions.defaults(),
                RegionOptions.of(memory),
                QueueCapabilities.of(1, 2),
                QueuePairAttributes.none(),
                QueuePair.rc(queue),
                RateLimit.of(9),
                RegionChange.of(memory),
                SharedReceiveQueue.basic(),
                WorkQueueOptions.of(queue, 4),
                AddressVector.of(1),
                FlowRule.of(FlowMatch.ethernet()))) {
            bases.put(base.getClass().getSimpleName(), base);
        }
    }

    @AfterAll
    void closeSamples() {
        arena.close();
    }

    /** Durations that a code of the wire stands for: units of 10 microseconds, and powers of 2 of 4.096 microseconds. */
    private static List<Object> codedDurations() {
        List<Object> durations = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            durations.add(Duration.ofNanos(10_000L * i));
        }
        for (int i = 10; i <= 20; i++) {
            durations.add(Duration.ofNanos(4_096L << i));
        }
        return durations;
    }

    /** Returns the values to try, most of them different for each option. */
    private List<Object> values(Type type, int number) {
        if (type instanceof ParameterizedType some
                && !Collection.class.isAssignableFrom((Class<?>) some.getRawType())) {
            return values(some.getRawType(), number);
        }
        if (type instanceof ParameterizedType some) {
            return values(some.getActualTypeArguments()[0], number).stream()
                    .<Object>map(List::of)
                    .toList();
        }
        Class<?> raw = (Class<?>) type;
        if (raw.isArray() && raw != byte[].class) {
            return values(raw.componentType(), number).stream()
                    .map(value -> {
                        Object array = Array.newInstance(raw.componentType(), 1);
                        Array.set(array, 0, value);
                        return array;
                    })
                    .toList();
        }
        if (raw.isEnum()) {
            List<Object> constants = new ArrayList<>(List.of(raw.getEnumConstants()));
            constants.removeIf(constant -> constant.toString().equals("UNKNOWN"));
            return constants;
        }
        if (raw == int.class || raw == long.class) {
            List<Object> numbers = new ArrayList<>();
            for (int value : new int[] {64 + number, 96 + number, 2 + number % 5, 3 + number % 5, 1, 2, 3, 0}) {
                numbers.add(raw == int.class ? (Object) value : (Object) (long) value);
            }
            return numbers;
        }
        return Objects.requireNonNull(samples.get(raw), () -> "no samples of " + raw);
    }

    private static List<Method> changers(Class<?> type) {
        return Stream.of(type.getMethods())
                .filter(method -> !Modifier.isStatic(method.getModifiers())
                        && method.getParameterCount() == 1
                        && method.getReturnType() == type
                        && !method.toString().contains("FlowRule.kind(")) // other kinds have no specs
                .sorted(Comparator.comparing(Method::toGenericString))
                .toList();
    }

    /** Returns the methods that read options, which most classes do not show to users. */
    private static List<Method> readers(Class<?> type) {
        return Stream.of(type.getDeclaredMethods())
                .filter(method -> !Modifier.isStatic(method.getModifiers())
                        && !Modifier.isPrivate(method.getModifiers())
                        && !method.isSynthetic()
                        && method.getParameterCount() == 0
                        && method.getReturnType() != type
                        && !method.getReturnType().isRecord() // it gathers several options
                        && !List.of("hashCode", "toString").contains(method.getName()))
                .peek(method -> method.setAccessible(true))
                .toList();
    }

    /** Returns the values of the row by the names of their keys as methods have them; none for attributes, which have no row. */
    private static Map<String, Object> row(Object options) {
        Map<String, Object> row = new TreeMap<>();
        for (Field field : options.getClass().getDeclaredFields()) {
            if (field.getType() == Options.Key.class) {
                row.put(methodName(field.getName()), value(field, options));
            }
        }
        return row;
    }

    private static String methodName(String constant) {
        return Pattern.compile("_(.)")
                .matcher(constant.toLowerCase(Locale.ROOT))
                .replaceAll(letter -> letter.group(1).toUpperCase(Locale.ROOT));
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // the key is a constant of the options' class
    private static Object value(Field field, Object options) {
        try {
            field.setAccessible(true);
            return Objects.requireNonNullElse(((Options.Key) field.get(null)).of((Options) options), "nothing");
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    private static String key(Method changer) {
        String name = changer.getName();
        return KEYS.getOrDefault(changer.getDeclaringClass().getSimpleName() + "." + name, name);
    }

    private static Optional<Object> change(Object options, Method changer, Object value) {
        try {
            return Optional.of(changer.invoke(options, value));
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof IllegalArgumentException) {
                return Optional.empty();
            }
            throw new AssertionError(changer + " with " + value, e.getCause());
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    private static Object read(Object options, Method reader) {
        try {
            return Objects.requireNonNullElse(reader.invoke(options), "nothing");
        } catch (InvocationTargetException e) {
            return e.getCause().getClass();
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the value as a method reads it or, if none does, as the row has it. */
    private static Object readAs(Object options, String name) {
        return readers(options.getClass()).stream()
                .filter(reader -> reader.getName().equals(name))
                .map(reader -> read(options, reader))
                .findFirst()
                .orElseGet(() -> Objects.requireNonNull(row(options).get(name), name));
    }

    private static boolean isReadAs(Object options, String name, Object value) {
        Object inRow = row(options).get(name);
        return (inRow == null || isSame(inRow, value))
                && readers(options.getClass()).stream()
                        .filter(reader -> reader.getName().equals(name))
                        .allMatch(reader -> isSame(read(options, reader), value));
    }

    /** Returns the value as its reader returns it. */
    private static boolean isSame(Object read, Object set) {
        if (read instanceof Optional<?> optional) {
            return isSame(optional.orElseThrow(), set);
        }
        if (read instanceof OptionalInt optional) {
            return set.equals(optional.getAsInt());
        }
        if (read instanceof OptionalLong optional) {
            return set.equals(optional.getAsLong());
        }
        if (read instanceof Record record && record.getClass() != set.getClass()) {
            return isSame(onlyComponent(record), set); // a record that has another text than its component
        }
        if (read instanceof byte[] bytes) {
            return set instanceof byte[] wanted && Arrays.equals(bytes, wanted);
        }
        if (read instanceof Collection<?> all) {
            List<?> wanted =
                    set.getClass().isArray() ? Arrays.asList((Object[]) set) : List.copyOf((Collection<?>) set);
            return List.copyOf(all).equals(wanted);
        }
        return read.equals(set);
    }

    private static Object onlyComponent(Record record) {
        RecordComponent[] components = record.getClass().getRecordComponents();
        assertThat(components).as(record.getClass().getName()).hasSize(1);
        components[0].getAccessor().setAccessible(true);
        return read(record, components[0].getAccessor());
    }

    /** Returns a copy with another value of one option, which its reader, if there is one, reads as it was set. */
    private Object changed(Object options, Method changer, int number) {
        return changed(options, changer, value(options, changer, number));
    }

    private static Object changed(Object options, Method changer, Object value) {
        return change(options, changer, value).orElseThrow();
    }

    private Object value(Object options, Method changer, int number) {
        String name = changer.getName();
        for (Object value : values(changer.getGenericParameterTypes()[0], number)) {
            Optional<Object> copy = change(options, changer, value);
            if (copy.isPresent() && !copy.get().equals(options) && isReadAs(copy.get(), name, value)) {
                return value;
            }
        }
        throw new AssertionError(changer + " is not read as it was set, from " + options);
    }

    private static boolean areViews(Class<?> type, String one, String other) {
        return one.startsWith(other)
                || other.startsWith(one)
                || VIEWS.getOrDefault(type.getSimpleName() + "." + one, Set.of())
                        .contains(other)
                || VIEWS.getOrDefault(type.getSimpleName() + "." + other, Set.of())
                        .contains(one);
    }

    private Object full(Object base) {
        Object full = base;
        int number = 1;
        for (Method changer : changers(base.getClass())) {
            full = changed(full, changer, number++);
        }
        return full;
    }

    static List<String> types() {
        return OptionsIdiomTest.options().stream().map(Class::getSimpleName).toList();
    }

    private Object base(String type) {
        return Objects.requireNonNull(bases.get(type), () -> "no sample of " + type);
    }

    @ParameterizedTest
    @MethodSource("types")
    void optionsAreReadAsTheyWereSet(String type) {
        assertThat(full(base(type))).isNotNull();
    }

    @ParameterizedTest
    @MethodSource("types")
    void rowHasEachOption(String type) {
        Object base = base(type);
        if (base instanceof Options) {
            assertThat(changers(base.getClass()))
                    .isNotEmpty()
                    .allSatisfy(changer -> assertThat(row(base)).containsKey(key(changer)));
        }
    }

    @ParameterizedTest
    @MethodSource("types")
    void changeOfOneOptionChangesItsPlaceInTheRowAlone(String type) {
        Object full = full(base(type));
        Map<String, Object> before = row(full);
        int number = 50;
        for (Method changer : changers(full.getClass())) {
            Map<String, Object> after = row(changed(full, changer, number++));
            Set<String> changed = new TreeSet<>(before.keySet());
            changed.removeIf(key -> Objects.deepEquals(before.get(key), after.get(key)));
            if (full instanceof Options) {
                assertThat(changed).as(changer.getName()).contains(key(changer));
            }
            changed.remove(key(changer));
            assertThat(changed)
                    .as("changed with %s", changer.getName())
                    .isSubsetOf(VIEWS.getOrDefault(type + "." + changer.getName(), Set.of()));
        }
    }

    @ParameterizedTest
    @MethodSource("types")
    void changesOfOneOptionKeepTheOthers(String type) {
        Object full = full(base(type));
        int number = 50;
        for (Method changer : changers(full.getClass())) {
            Object other = changed(full, changer, number++);
            for (Method reader : readers(full.getClass())) {
                if (!areViews(full.getClass(), changer.getName(), reader.getName())) {
                    assertThat(read(other, reader))
                            .as("%s after a change of %s", reader.getName(), changer.getName())
                            .isEqualTo(read(full, reader));
                }
            }
        }
    }

    /** A change that loses or overwrites another option makes a difference to the order of changes. */
    @ParameterizedTest
    @MethodSource("types")
    void orderOfChangesMakesNoDifference(String type) {
        Object base = base(type);
        Object untouched = full(base);
        List<Method> changers = changers(base.getClass());
        for (Method first : changers) {
            Object one = value(untouched, first, 50);
            for (Method second : changers) {
                if (!first.equals(second) && !areViews(base.getClass(), first.getName(), second.getName())) {
                    Object other = value(untouched, second, 60);
                    assertThat(changed(changed(base, first, one), second, other))
                            .as("%s(%s) and %s(%s)", first.getName(), one, second.getName(), other)
                            .isEqualTo(changed(changed(base, second, other), first, one));
                }
            }
        }
        assertThat(untouched).isEqualTo(full(base));
        assertThat(base).isSameAs(base(type)).hasToString(base(type).toString());
    }

    @ParameterizedTest
    @MethodSource("types")
    void equalOptionsAreEqual(String type) {
        Object full = full(base(type));
        assertThat(full(base(type))).isEqualTo(full).hasSameHashCodeAs(full).hasToString(full.toString());
        assertThat(full).isNotEqualTo(null).isNotEqualTo("another type");
    }

    @ParameterizedTest
    @MethodSource("types")
    void eachOptionMakesADifference(String type) {
        Object full = full(base(type));
        int number = 50;
        Set<String> omitted = new TreeSet<>();
        for (Method changer : changers(full.getClass())) {
            Object other = changed(full, changer, number++);
            assertThat(other).as(changer.getName()).isNotEqualTo(full);
            if (full instanceof Options) {
                assertThat(other.hashCode()).as(changer.getName()).isNotEqualTo(full.hashCode());
            }
            if (other.toString().equals(full.toString())) {
                omitted.add(changer.getName());
            }
        }
        assertThat(omitted).isEqualTo(NOT_IN_TEXT.getOrDefault(type, Set.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "NodeOptions.window, 1, 4095",
        "NodeOptions.sends, 1, 4095",
        "NodeOptions.calls, 0, 4095",
        "NodeOptions.operations, 0, 4095",
        "NodeOptions.maxExports, 0, 65535",
        "NodeOptions.maxTransferSize, 0, 9223372036854775807",
        "NodeOptions.messageSize, 64, 1073741824",
        "NodeOptions.maxChannels, 1, 65535",
        "NodeOptions.connecting, 1, 65535",
        "NodeOptions.maxChannelsPerPeer, 0, 65535",
        "NodeOptions.maxWaiting, 0, 65535",
        "NodeOptions.trafficClass, 0, 255",
        "NodeOptions.serviceLevel, 0, 15",
        "NodeOptions.completionVector, 0, 2147483647",
        "ListenerOptions.backlog, 1, 2147483647",
        "ConnectionParameters.responderResources, 0, 255",
        "ConnectionParameters.initiatorDepth, 0, 255",
        "ConnectionParameters.retryCount, 0, 7",
        "ConnectionParameters.rnrRetryCount, 0, 7",
        "CompletionQueueOptions.capacity, 1, 2147483647",
        "CompletionQueueOptions.completionVector, 0, 2147483647",
        "DmaHints.cpu, 0, 2147483647",
        "DmaHints.processingHint, 0, 3",
        "DmaHints.memoryType, 0, 1",
        "QueueCapabilities.sendDepth, 0, 2147483647",
        "QueueCapabilities.receiveDepth, 0, 2147483647",
        "QueueCapabilities.sendSge, 0, 2147483647",
        "QueueCapabilities.receiveSge, 0, 2147483647",
        "QueueCapabilities.inlineSize, 0, 2147483647",
        "QueuePairAttributes.pkeyIndex, 0, 65535",
        "QueuePairAttributes.port, 0, 255",
        "QueuePairAttributes.timeoutCode, 0, 31",
        "QueuePairAttributes.alternateTimeoutCode, 0, 31",
        "QueuePairAttributes.minRnrTimerCode, 0, 31",
        "QueuePairAttributes.retryCount, 0, 7",
        "QueuePairAttributes.rnrRetryCount, 0, 7",
        "QueuePairAttributes.receivePsn, 0, 16777215",
        "QueuePairAttributes.sendPsn, 0, 16777215",
        "QueuePairAttributes.maxReadAtomic, 0, 255",
        "QueuePairAttributes.maxDestinationReadAtomic, 0, 255",
        "QueuePairAttributes.destinationQueuePair, 0, 16777215",
        "QueuePairOptions.port, 1, 255",
        "QueuePairOptions.gidIndex, -1, 255",
        "QueuePairOptions.sendDepth, 0, 2147483647",
        "QueuePairOptions.receiveDepth, 0, 2147483647",
        "QueuePairOptions.sendSge, 0, 2147483647",
        "QueuePairOptions.receiveSge, 0, 2147483647",
        "QueuePairOptions.inlineSize, 0, 2147483647",
        "QueuePairOptions.tsoHeader, 0, 65535",
        "QueuePairOptions.sourceNumber, 0, 16777215",
        "RateLimit.kilobitsPerSecond, 0, 4294967295",
        "RateLimit.maxBurst, 0, 4294967295",
        "RateLimit.typicalPacket, 0, 65535",
        "SharedReceiveQueueOptions.depth, 0, 2147483647",
        "SharedReceiveQueueOptions.sge, 0, 2147483647",
        "WorkQueueOptions.depth, 1, 2147483647",
        "WorkQueueOptions.sge, 1, 2147483647",
        "AddressVector.port, 0, 255",
        "AddressVector.destinationLid, 0, 65535",
        "AddressVector.serviceLevel, 0, 15",
        "AddressVector.sourcePathBits, 0, 127",
        "AddressVector.staticRateCode, 0, 255",
        "FlowRule.port, 1, 255",
        "FlowRule.priority, 0, 65535"
    })
    void numbersHaveTheirRanges(String option, long min, long max) {
        Object base = base(option.replaceAll("\\..*", ""));
        Method changer = changer(option);
        boolean isInt = changer.getParameterTypes()[0] == int.class;
        for (long value : new long[] {min, max}) {
            Object copy = change(base, changer, isInt ? (Object) (int) value : (Object) value)
                    .orElseThrow();
            assertThat(isReadAs(copy, changer.getName(), isInt ? (Object) (int) value : (Object) value))
                    .as("%s, in %s", value, copy)
                    .isTrue();
        }
        for (long value : new long[] {min - 1, max + 1}) {
            if (!isInt || value == (int) value) {
                assertRefuses(base, changer, isInt ? (Object) (int) value : (Object) value);
            }
        }
    }

    /** A number without a range would be tried with a few small values alone. */
    @Test
    void eachNumberHasARange() throws NoSuchMethodException {
        List<String> ranges = Stream.of(OptionValuesTest.class
                        .getDeclaredMethod("numbersHaveTheirRanges", String.class, long.class, long.class)
                        .getAnnotation(CsvSource.class)
                        .value())
                .map(range -> range.replaceAll(",.*", ""))
                .toList();
        List<String> numbers = new ArrayList<>();
        for (String type : types()) {
            for (Method changer : changers(base(type).getClass())) {
                Class<?> parameter = changer.getParameterTypes()[0];
                if (parameter == int.class || parameter == long.class) {
                    numbers.add(type + "." + changer.getName());
                }
            }
        }
        numbers.removeAll(TAKE_ANY_NUMBER);
        assertThat(ranges).containsExactlyInAnyOrderElementsOf(numbers);
    }

    private static void assertRefuses(Object base, Method changer, Object value) {
        assertThatThrownBy(() -> changer.invoke(base, value))
                .as("%s(%s)", changer.getName(), value)
                .cause()
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageMatching(".*(got " + value + "|" + value + " can be read, not set)");
    }

    private Method changer(String option) {
        return changers(base(option.replaceAll("\\..*", "")).getClass()).stream()
                .filter(method -> method.getName().equals(option.replaceAll(".*\\.", "")))
                .findFirst()
                .orElseThrow();
    }

    private static Object parse(Class<?> type, String text) {
        if (type == Duration.class) {
            return Duration.parse(text);
        }
        return Stream.of(type.getEnumConstants())
                .filter(constant -> constant.toString().equals(text))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({
        "NodeOptions.handshakeTimeout, PT0.000000001S, PT0S",
        "NodeOptions.closeTimeout, PT0S, PT-0.001S",
        "NodeOptions.alive, PT0.000000001S, PT0S",
        "NodeOptions.maxStall, PT0.000000001S, PT0S",
        "QueuePairAttributes.timeout, PT0.000008192S, PT0S",
        "QueuePairAttributes.timeout, PT2H26M36.093022208S, PT2H26M36.093022209S",
        "QueuePairAttributes.minRnrTimer, PT0.00001S, PT-0.000000001S",
        "QueuePairAttributes.minRnrTimer, PT0.65536S, PT0.655360001S",
        "NodeOptions.pathMtu, BYTES_1024, UNKNOWN",
        "QueuePairAttributes.pathMtu, BYTES_4096, UNKNOWN",
        "QueuePairAttributes.currentState, SQD, UNKNOWN",
        "QueuePairAttributes.pathMigrationState, ARMED, UNKNOWN"
    })
    void durationsAndConstantsHaveTheirLimits(String option, String taken, String refused) {
        Object base = base(option.replaceAll("\\..*", ""));
        Method changer = changer(option);
        Object value = parse(changer.getParameterTypes()[0], taken);
        assertThat(readAs(changed(base, changer, value), changer.getName())).isEqualTo(value);
        assertRefuses(base, changer, parse(changer.getParameterTypes()[0], refused));
    }

    @Test
    void tokenHasAtMostFortyBytes() {
        assertThat(changed(base("NodeOptions"), changer("NodeOptions.token"), new byte[40]))
                .isNotNull();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NodeOptions.defaults().token(new byte[41]))
                .withMessageContaining("got 41");
    }

    @Test
    void nullsAreRefused() {
        NodeOptions defaults = NodeOptions.defaults();
        for (Method changer : changers(NodeOptions.class)) {
            if (!changer.getParameterTypes()[0].isPrimitive()) {
                assertThatThrownBy(() -> changer.invoke(defaults, new Object[] {null}))
                        .as(changer.getName())
                        .hasCauseInstanceOf(NullPointerException.class);
            }
        }
        assertThatNullPointerException()
                .isThrownBy(() -> defaults.closeTimeout(null))
                .withMessage("closeTimeout");
        assertThatNullPointerException()
                .isThrownBy(() -> CompletionQueueOptions.of(8).pollingCalls(null));
    }

    @ParameterizedTest
    @CsvSource({
        "NodeOptions.window, 32",
        "NodeOptions.sends, 32",
        "NodeOptions.calls, 32",
        "NodeOptions.operations, 32",
        "NodeOptions.maxExports, 64",
        "NodeOptions.messageSize, 4096",
        "NodeOptions.maxChannels, 64",
        "NodeOptions.maxChannelsPerPeer, 48",
        "NodeOptions.maxWaiting, 32",
        "NodeOptions.maxTransferSize, 1099511627776",
        "NodeOptions.handshakeTimeout, PT30S",
        "NodeOptions.closeTimeout, PT10S",
        "NodeOptions.alive, PT5S",
        "NodeOptions.maxStall, PT5M",
        "NodeOptions.token, 0 bytes",
        "NodeOptions.progress, BACKGROUND",
        "CompletionQueueOptions.pollingCalls, BY_DRIVER",
        "ListenerOptions.backlog, 128",
        "QueuePairOptions.type, RC",
        "QueuePairOptions.gidIndex, -1",
        "QueuePairOptions.port, 1",
        "QueuePairOptions.tsoHeader, 0",
        "QueuePairOptions.capabilities, 'send 64x1, receive 64x1, inline 0'",
        "SharedReceiveQueueOptions.depth, 64",
        "ConnectionParameters.retryCount, 6",
        "ConnectionParameters.rnrRetryCount, 7"
    })
    void optionsHaveTheirDefaults(String option, String value) {
        Object base = base(option.replaceAll("\\..*", ""));
        Object read = readAs(base, option.replaceAll(".*\\.", ""));
        assertThat(read instanceof byte[] bytes ? bytes.length + " bytes" : read)
                .hasToString(value);
    }

    /** Three quarters of the channels, unless the program says otherwise. */
    @ParameterizedTest
    @CsvSource({"1, 1", "5, 4"})
    void defaultOfMaxChannelsPerPeerFollowsMaxChannels(int channels, int perPeer) {
        assertThat(readAs(NodeOptions.defaults().maxChannels(channels), "maxChannelsPerPeer"))
                .isEqualTo(perPeer);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sendDepth", "receiveDepth", "sendSge", "receiveSge", "inlineSize"})
    void sizeOfAQueuePairIsThatOfItsCapabilities(String size) {
        QueuePairOptions options = (QueuePairOptions) base("QueuePairOptions");
        assertThat(readAs(changed(options, changer("QueuePairOptions." + size), 7), "capabilities"))
                .isEqualTo(changed(QueueCapabilities.of(64, 64), changer("QueueCapabilities." + size), 7));
    }

    @Test
    void unreliableConnectionHasItsType() {
        assertThat(readAs(QueuePair.uc(null), "type")).isEqualTo(QueuePairType.UC);
    }

    @ParameterizedTest
    @CsvSource({
        "currentState, CURRENT_STATE",
        "sqdNotification, EN_SQD_ASYNC_NOTIFY",
        "access, ACCESS_FLAGS",
        "pkeyIndex, PKEY_INDEX",
        "port, PORT",
        "qkey, QKEY",
        "addressVector, ADDRESS_VECTOR",
        "pathMtu, PATH_MTU",
        "timeout, TIMEOUT",
        "retryCount, RETRY_COUNT",
        "rnrRetryCount, RNR_RETRY",
        "receivePsn, RQ_PSN",
        "sendPsn, SQ_PSN",
        "maxReadAtomic, MAX_READ_ATOMIC",
        "maxDestinationReadAtomic, MAX_DEST_READ_ATOMIC",
        "minRnrTimer, MIN_RNR_TIMER",
        "pathMigrationState, PATH_MIGRATION_STATE",
        "destinationQueuePair, DESTINATION_QP",
        "capabilities, CAPABILITIES",
        "rateLimit, RATE_LIMIT"
    })
    void attributeIsNamedByMaskAndText(String name, Attribute attribute) {
        QueuePairAttributes none = QueuePairAttributes.none();
        Method changer = changer("QueuePairAttributes." + name);
        Object value = value(none, changer, 1);
        QueuePairAttributes one = (QueuePairAttributes) changed(none, changer, value);
        assertThat(one.mask()).containsExactly(attribute);
        assertThat(one).hasToString(attribute + " " + value);
        assertThat(none.mask()).isEmpty();
    }

    @Test
    void eachAttributeIsNamedOnceByTheMask() {
        QueuePairAttributes full = (QueuePairAttributes) full(base("QueuePairAttributes"));
        assertThat(full.mask()).isEqualTo(EnumSet.complementOf(EnumSet.of(Attribute.STATE)));
        QueuePairAttributes state = QueuePairAttributes.to(QueuePairState.INIT);
        assertThat(state.state()).isEqualTo(QueuePairState.INIT);
        assertThat(state.mask()).containsExactly(Attribute.STATE);
        assertThat(state.port(1).port(2).mask()).containsExactly(Attribute.STATE, Attribute.PORT);
        assertThatIllegalArgumentException().isThrownBy(() -> QueuePairAttributes.to(QueuePairState.UNKNOWN));
    }

    @Test
    void pathsKeepTheGreatestNumbersOfEachField() {
        AddressVector path = AddressVector.of(1)
                .destinationLid(0xffff)
                .serviceLevel(15)
                .sourcePathBits(127)
                .staticRateCode(255)
                .globalRoute(new GlobalRoute(Gid.parse("::ffff:10.9.9.1"), 255, 0xfffff, 255, 254));
        QueuePairAttributes none = QueuePairAttributes.none();
        QueuePairAttributes alternate = none.alternatePath(path, 3, Duration.ofMillis(67));
        assertThat(none.addressVector(path).addressVector()).isEqualTo(path);
        assertThat(alternate.alternatePath()).isEqualTo(path);
        assertThat(alternate.mask()).containsExactly(Attribute.ALTERNATE_PATH);
        assertThat(alternate).hasToString(Attribute.ALTERNATE_PATH + " " + path);
        for (ThrowingCallable refused : List.<ThrowingCallable>of(
                () -> none.alternatePath(path, -1, Duration.ofMillis(1)),
                () -> none.alternatePath(path, 0, Duration.ZERO),
                () -> AddressVector.of(256),
                () -> new GlobalRoute(Gid.ZERO, 256, 0, 0, 0),
                () -> new GlobalRoute(Gid.ZERO, 0, 0x100000, 0, 0),
                () -> new GlobalRoute(Gid.ZERO, 0, 0, 256, 0),
                () -> new GlobalRoute(Gid.ZERO, 0, 0, 0, -1))) {
            assertThatIllegalArgumentException().isThrownBy(refused).withMessageContaining("got ");
        }
    }
}
