package dev.verbena.verbs;

import static dev.verbena.verbs.Refusals.assertThrows;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.UnsupportedVerbException;
import dev.verbena.VerbsArena;
import dev.verbena.internal.ExtendedCalls;
import dev.verbena.support.ArenaKind;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each field of a completion is read from its own place: the provider for tests gives all fields different values, so that
 * a neighbour's value is noticed.
 */
@FencedTest
class CursorFieldsTest {
    private static final long ID = 0x0102_0304_0506_0708L;
    private static final int LENGTH = 200;
    private static final int IMMEDIATE = 0x11223344;
    private static final int PKEY_INDEX = 3;
    private static final Set<CompletionField> ALL = EnumSet.allOf(CompletionField.class);

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final Context context = TestDevice.get().open(arena);
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue sends = context.createCompletionQueue(8);
    private MemoryRegion buffer;
    private QueuePair sender;
    private QueuePair receiver;

    @BeforeEach
    void register() {
        buffer = domain.register(arena.allocate(4096, 64), AccessFlag.LOCAL_WRITE);
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private void connect(CompletionQueue receives) {
        sender = domain.createQueuePair(QueuePair.rc(sends));
        receiver = domain.createQueuePair(QueuePair.rc(sends, receives));
        sender.connect(receiver.endpoint());
        receiver.connect(sender.endpoint());
    }

    private void receive(Completions done) {
        receiver.postReceive(ID, buffer);
        sender.postSendImmediate(1, buffer.slice(0, LENGTH), IMMEDIATE);
        assertThat(done.poll()).isEqualTo(1);
        assertThat(done.next()).isTrue();
    }

    /** The cursors over a queue, which fetch completions by different calls. */
    enum Cursor {
        PLAIN(null, false),
        EXTENDED(null, true), // for the provider for tests, which is software
        MANY(ExtendedCalls.PLAIN, false),
        ONE_BY_ONE(ExtendedCalls.PLAIN, true),
        CRITICAL_MANY(ExtendedCalls.CRITICAL, false),
        CRITICAL_ONE_BY_ONE(ExtendedCalls.CRITICAL, true);

        private final @Nullable ExtendedCalls calls;
        final boolean oneByOne;

        Cursor(@Nullable ExtendedCalls calls, boolean oneByOne) {
            this.calls = calls;
            this.oneByOne = oneByOne;
        }

        /** Makes a queue that such a cursor reads. */
        CompletionQueue queue(Context context, Collection<CompletionField> fields) {
            CompletionQueueOptions options = CompletionQueueOptions.of(16);
            return context.createCompletionQueue(this == PLAIN ? options : options.fields(fields));
        }

        /** Makes a cursor for two completions. The library of soft-RoCE does not allow those that read many under one lock. */
        Completions over(CompletionQueue queue, Set<CompletionField> fields) {
            if (calls == null) {
                return this == PLAIN ? queue.completions(2) : queue.extendedCompletions(2);
            }
            CompletionReaders readers = new CompletionReaders(queue.address(), calls, calls, calls);
            return new ExtendedCompletions(queue, readers, fields, false, oneByOne, 2);
        }
    }

    /**
     * A field of a completion.
     *
     * @param name the method that reads it
     * @param field what an extended queue must report for it; null if each reports it
     */
    private record Field(String name, @Nullable CompletionField field, long expected) {
        /** Reads the field, or returns nothing if the type has no such method. */
        OptionalLong read(Object from) {
            try {
                Object value = from.getClass().getMethod(name).invoke(from);
                return OptionalLong.of(
                        value instanceof WorkCompletion.Opcode opcode ? opcode.code() : ((Number) value).longValue());
            } catch (InvocationTargetException e) {
                throw (RuntimeException) e.getCause();
            } catch (NoSuchMethodException e) {
                return OptionalLong.empty();
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }
    }

    private List<Field> fields() {
        return List.of(
                new Field("id", null, ID),
                new Field("statusCode", null, 0),
                new Field("opcode", null, WorkCompletion.Opcode.RECEIVE.code()),
                new Field("vendorError", null, 0),
                new Field("flagBits", null, WorkCompletion.Flag.WITH_IMMEDIATE.bit()),
                new Field("byteLength", CompletionField.BYTE_LENGTH, LENGTH),
                new Field("immediate", CompletionField.IMMEDIATE, IMMEDIATE),
                new Field(
                        "invalidatedKey", CompletionField.IMMEDIATE, Integer.reverseBytes(IMMEDIATE)), // the same place
                new Field("queuePairNumber", CompletionField.QUEUE_PAIR_NUMBER, receiver.number()),
                new Field("sourceQueuePair", CompletionField.SOURCE_QUEUE_PAIR, sender.number()),
                new Field("sourceLid", CompletionField.SOURCE_LID, 0x1234),
                new Field("serviceLevel", CompletionField.SERVICE_LEVEL, 5),
                new Field("pathBits", CompletionField.PATH_BITS, 7),
                new Field("timestamp", CompletionField.TIMESTAMP, 0x1122334455667788L),
                new Field("wallClockNanos", CompletionField.WALL_CLOCK, 0x0102030405060709L),
                new Field("vlan", CompletionField.VLAN, 0x9abc),
                new Field("flowTag", CompletionField.FLOW_TAG, 0xf10f10),
                new Field("tag", CompletionField.TAG_MATCHING, 0x7a67a67a67a67a67L),
                new Field("tagData", CompletionField.TAG_MATCHING, 0x50505051));
    }

    /** Compares all fields of the current completion: those that the queue does not report are refused, and 0 in values. */
    private void assertFields(Completions done, Collection<CompletionField> reported, int pkeyIndex) {
        WorkCompletion value = done.completion();
        for (Field each : fields()) {
            boolean isReported = each.field == null || reported.contains(each.field);
            if (isReported) {
                assertThat(each.read(done)).as(each.name).hasValue(each.expected);
            } else if (done instanceof ExtendedCompletions) {
                assertThatThrownBy(() -> each.read(done))
                        .as(each.name)
                        .isInstanceOf(UnsupportedVerbException.class)
                        .hasMessageContaining(each.field.toString());
            }
            each.read(value)
                    .ifPresent(found -> assertThat(found)
                            .as("%s of the value", each.name)
                            .isEqualTo(isReported ? each.expected : 0));
        }
        assertThat(value.pkeyIndex()).isEqualTo(pkeyIndex);
        assertThat(done.orThrow()).isSameAs(done);
        assertThat(done.isReceive()).isTrue();
        assertThat(done.hasRoutingHeader()).isFalse();
        assertThat(done.queuePair()).isSameAs(reported.contains(CompletionField.QUEUE_PAIR_NUMBER) ? receiver : null);
        if (done instanceof ExtendedCompletions) {
            assertThrows(UnsupportedVerbException.class, "completions()", done::pkeyIndex);
        } else {
            assertThat(done.pkeyIndex()).isEqualTo(pkeyIndex);
        }
    }

    /** All values of fields that are as wide as another one must differ, or the test is worth nothing. */
    @Test
    void fieldsHaveValuesOfTheirOwn() {
        connect(sends);
        assertThat(fields().stream().map(field -> field.expected).filter(value -> value != 0))
                .doesNotHaveDuplicates()
                .doesNotContain((long) PKEY_INDEX)
                .hasSize(17);
    }

    /** A queue that reports one field, or none, must not look for the flag of another one. */
    @ParameterizedTest
    @EnumSource
    void cursorReadsEachFieldFromItsPlace(Cursor cursor) {
        List<Set<CompletionField>> sets = new ArrayList<>(List.of(ALL, Set.of()));
        for (CompletionField field : CompletionField.values()) {
            sets.add(Set.of(field));
        }
        for (Set<CompletionField> fields : sets) {
            CompletionQueue queue = cursor.queue(context, fields);
            connect(queue);
            Completions done = cursor.over(queue, fields);
            receive(done);
            boolean plain = cursor == Cursor.PLAIN;
            assertFields(done, plain ? CompletionField.standard() : fields, plain ? PKEY_INDEX : 0);
        }
    }

    /** The cursor of an extended queue keeps some fields in arrays beside the completions. */
    @ParameterizedTest
    @EnumSource
    void cursorKeepsFieldsOfEachCompletion(Cursor cursor) {
        CompletionQueue queue = cursor.queue(context, ALL);
        connect(queue);
        Completions done = cursor.over(queue, ALL);
        for (int round = 0; round < 2; round++) {
            assertThat(done.poll()).isZero();
            for (int i = 0; i < 3; i++) {
                receiver.postReceive(i, buffer);
                sender.postSendImmediate(i, buffer.slice(0, 10 + i), 20 + i);
            }
            for (int i = 0; i < 3; i++) {
                if (i != 1) {
                    assertThat(done.poll()).isEqualTo(i == 0 ? 2 : 1);
                }
                assertThat(done.next()).isTrue();
                assertThat(done.id()).isEqualTo(i);
                assertThat(done.byteLength()).isEqualTo(10 + i);
                assertThat(done.immediate()).isEqualTo(20 + i);
                if (done instanceof ExtendedCompletions more) {
                    assertThat(more.tag()).isEqualTo(0x7a67a67a67a67a67L);
                }
            }
            assertThat(done.next()).isFalse();
        }
    }

    /** An adapter's queue of standard fields is polled by one call, and tells all that the slow way tells. */
    @ParameterizedTest
    @EnumSource
    void standardFieldsOfAnAdapterAreFetchedByOneCall(ArenaKind kind, @TempDir Path folder) throws IOException {
        Files.createDirectory(folder.resolve("device"));
        Files.createSymbolicLink(folder.resolve("device").resolve("driver"), Path.of("an_adapter"));
        Fenced.adapterPath(folder.toString());
        try (Loopback loopback = Loopback.connected(kind.make(), QueuePairAttributes.none())) {
            for (Set<CompletionField> fields : List.of(
                    CompletionField.standard(),
                    Set.of(CompletionField.BYTE_LENGTH),
                    Set.<CompletionField>of(),
                    Set.of(CompletionField.BYTE_LENGTH, CompletionField.TIMESTAMP))) {
                receiveByAdapter(loopback, fields);
            }
        } finally {
            Fenced.adapterPath("");
        }
    }

    private void receiveByAdapter(Loopback loopback, Set<CompletionField> fields) {
        CompletionQueue queue = loopback.context.createCompletionQueue(
                CompletionQueueOptions.of(8).fields(fields));
        QueuePair pair = loopback.domain.createQueuePair(QueuePair.rc(queue));
        pair.connect(pair.endpoint());
        boolean standard = CompletionField.standard().containsAll(fields);
        ExtendedCompletions done = queue.extendedCompletions(4);
        long before = Fenced.calls("ibv_start_poll");
        pair.postReceive(ID, loopback.left.buffer);
        pair.postSendImmediate(1, loopback.left.buffer.slice(0, LENGTH), IMMEDIATE);
        assertThat(done.poll()).isEqualTo(2);
        assertThat(done.next()).isTrue();
        if (done.id() != ID) {
            assertThat(done.next()).isTrue();
        }
        assertThat(Fenced.calls("ibv_start_poll") - before).isEqualTo(standard ? 0 : 1);
        receiver = pair;
        sender = pair;
        assertFields(done, fields, 0);
        pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
        assertThat(done.poll()).isEqualTo(1);
        assertThat(done.next()).isTrue();
        assertThat(done.id()).isEqualTo(7);
        assertThat(done.status()).isEqualTo(WorkStatus.REMOTE_ACCESS_ERROR);
        assertThat(done.vendorError()).isEqualTo(0x77);
        assertThat(done.queuePair()).isSameAs(fields.contains(CompletionField.QUEUE_PAIR_NUMBER) ? pair : null);
        assertThat(done.poll()).isZero();
        pair.close();
    }
}
