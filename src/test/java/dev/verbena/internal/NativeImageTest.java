package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.Rdma;
import dev.verbena.sockets.RdmaSelectorProvider;
import dev.verbena.support.ChildJvm;
import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Compares the file that tells GraalVM's {@code native-image} what the library calls in C and looks up by name with the
 * library's classes. The file is made of them: this test writes it to {@code target} and says how to take it over.
 */
class NativeImageTest {
    private static final Path FILE =
            Path.of("src/main/resources/META-INF/native-image/dev.verbena/verbena/reachability-metadata.json");
    private static final Path MADE = Path.of("target", FILE.getFileName().toString());

    private static final String LINK = Type.getDescriptor(LinkedHandle.class);

    /** Methods that find by name, at run time, what a native image may have left out. */
    private static final Set<String> LOOKUPS = Set.of(
            "java/lang/Class.forName",
            "java/lang/Class.getMethod",
            "java/lang/Class.getMethods",
            "java/lang/Class.getField",
            "java/lang/Class.getFields",
            "java/lang/Class.getConstructor",
            "java/lang/Class.getDeclaredMethod",
            "java/lang/Class.getDeclaredMethods",
            "java/lang/Class.getDeclaredField",
            "java/lang/Class.getDeclaredFields",
            "java/lang/Class.getDeclaredConstructor",
            "java/lang/Class.getResource",
            "java/lang/Class.getResourceAsStream",
            "java/lang/ClassLoader.getResource",
            "java/lang/ClassLoader.getResourceAsStream",
            "java/lang/ClassLoader.getSystemResource",
            "java/lang/ClassLoader.getSystemResourceAsStream",
            "java/lang/ClassLoader.loadClass",
            "java/lang/Module.getResourceAsStream",
            "java/lang/reflect/Array.newInstance",
            "java/lang/reflect/Proxy.newProxyInstance",
            "java/lang/invoke/MethodHandles$Lookup.defineClass",
            "java/lang/invoke/MethodHandles$Lookup.defineHiddenClass",
            "java/lang/invoke/MethodHandles$Lookup.findClass",
            "java/lang/invoke/MethodHandles$Lookup.findConstructor",
            "java/lang/invoke/MethodHandles$Lookup.findGetter",
            "java/lang/invoke/MethodHandles$Lookup.findSetter",
            "java/lang/invoke/MethodHandles$Lookup.findSpecial",
            "java/lang/invoke/MethodHandles$Lookup.findStatic",
            "java/lang/invoke/MethodHandles$Lookup.findStaticVarHandle",
            "java/lang/invoke/MethodHandles$Lookup.findVarHandle",
            "java/lang/invoke/MethodHandles$Lookup.findVirtual",
            "java/util/ResourceBundle.getBundle",
            "java/util/ServiceLoader.load",
            "java/util/ServiceLoader.loadInstalled");

    /** The fields of the library that hold a linked handle. */
    private static final List<String> HANDLES = new ArrayList<>();

    /** The fields that {@link Fields} finds by name, by class. */
    private static final Map<String, Set<String>> FIELDS = new TreeMap<>();

    /** The methods that call one of {@link #LOOKUPS}. */
    private static final Set<String> LOOKING = new TreeSet<>();

    /** The methods that link functions of C, or make functions that C calls. */
    private static final Set<String> LINKING = new TreeSet<>();

    /** Makers of handles that are not kept in a static field. */
    private static final Set<String> UNKEPT = new TreeSet<>();

    @BeforeAll
    static void readTheClasses() throws IOException {
        Path place = ChildJvm.place(Rdma.class);
        try (Stream<Path> files = Files.walk(place.resolve("dev/verbena"))) {
            for (Path file : files.filter(each -> each.toString().endsWith(".class"))
                    .filter(each -> !each.startsWith(place.resolve("dev/verbena/internal/raw")))
                    .toList()) {
                new ClassReader(Files.readAllBytes(file)).accept(new Uses(), ClassReader.SKIP_FRAMES);
            }
        }
        Collections.sort(HANDLES);
    }

    /** Notes what a class uses. */
    private static final class Uses extends ClassVisitor {
        private String name = "";

        Uses() {
            super(Opcodes.ASM9);
        }

        @Override
        public void visit(int version, int access, String own, String generic, String above, String[] interfaces) {
            name = own;
        }

        @Override
        public @Nullable FieldVisitor visitField(int access, String field, String type, String generic, Object value) {
            if (type.equals(LINK)) {
                HANDLES.add(name.replace('/', '.') + "#" + field);
            }
            return null;
        }

        @Override
        public MethodVisitor visitMethod(int access, String method, String type, String generic, String[] thrown) {
            String place = name.substring("dev/verbena/".length()) + "." + method;
            return new MethodVisitor(Opcodes.ASM9) {
                private String text = "";
                private boolean made;

                @Override
                public void visitLdcInsn(Object value) {
                    if (value instanceof String string) {
                        text = string;
                    }
                }

                @Override
                public void visitMethodInsn(
                        int opcode, String owner, String called, String how, boolean isOfInterface) {
                    unkept();
                    if (LOOKUPS.contains(owner + "." + called)) {
                        LOOKING.add(place);
                    }
                    if (owner.equals("java/lang/foreign/Linker")
                            && Set.of("downcallHandle", "upcallStub").contains(called)) {
                        LINKING.add(place);
                    }
                    if (owner.equals(Type.getInternalName(Fields.class))) {
                        FIELDS.computeIfAbsent(name.replace('/', '.'), fresh -> new TreeSet<>())
                                .add(text);
                    }
                    made = how.endsWith(LINK)
                            || owner.equals(Type.getInternalName(LinkedHandle.class)) && called.equals("<init>");
                }

                @Override
                public void visitFieldInsn(int opcode, String owner, String field, String how) {
                    if (opcode == Opcodes.PUTSTATIC) {
                        made = false;
                    }
                    unkept();
                }

                @Override
                public void visitInsn(int opcode) {
                    if (opcode == Opcodes.ARETURN) {
                        made = false;
                    }
                    unkept();
                }

                @Override
                public void visitVarInsn(int opcode, int variable) {
                    unkept();
                }

                private void unkept() {
                    if (made) {
                        UNKEPT.add(place);
                    }
                    made = false;
                }
            };
        }
    }

    @Test
    void fileHasEachDowncallAndLookup() throws Exception {
        String made = metadata();
        Files.createDirectories(MADE.getParent());
        Files.writeString(MADE, made);
        assertThat(Files.exists(FILE) ? Files.readString(FILE) : "")
                .as("take it over by 'cp " + MADE + " " + FILE + "'")
                .isEqualTo(made);
    }

    /** So the file has all of them: the test reads static fields. */
    @Test
    void handlesAreKeptInStaticFields() {
        assertThat(UNKEPT).isEmpty();
        assertThat(LINKING).containsExactly("internal/LinkedHandle.link");
        assertThat(HANDLES).hasSizeGreaterThan(5);
    }

    /** A look-up of another method needs a line in the file, and so in {@link #metadata}. */
    @Test
    void lookupsAreThoseThatTheFileIsMadeFor() {
        assertThat(LOOKING)
                .containsExactly(
                        "internal/Driver.bytesOfTemplate", // not in a native image: TableDriver
                        "internal/Driver.make", // the same
                        "internal/Fields.handle",
                        "internal/JdkSelectorProvider.get");
    }

    private static String metadata() throws ReflectiveOperationException {
        return "{\n  \"foreign\": {\n    \"downcalls\": [\n      "
                + String.join(",\n      ", downcalls())
                + "\n    ]\n  },\n  \"reflection\": [\n    "
                + String.join(",\n    ", reflection())
                + "\n  ]\n}\n";
    }

    private static Set<String> downcalls() throws ReflectiveOperationException {
        Set<String> calls = new TreeSet<>();
        for (String handle : HANDLES) {
            String[] words = handle.split("#");
            Field field = Class.forName(words[0]).getDeclaredField(words[1]);
            field.setAccessible(true);
            LinkedHandle link = (LinkedHandle) field.get(null);
            calls.add(downcall(
                    (MemoryLayout) value(link, "result"), (MemoryLayout[]) value(link, "arguments"), (LinkedHandle.Kind)
                            value(link, "kind")));
        }
        return calls;
    }

    private static Object value(LinkedHandle link, String name) throws ReflectiveOperationException {
        Field field = LinkedHandle.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(link);
    }

    private static String downcall(MemoryLayout result, MemoryLayout[] arguments, LinkedHandle.Kind kind) {
        String parameters =
                Stream.of(arguments).map(each -> '"' + type(each) + '"').collect(Collectors.joining(", ", "[", "]"));
        return "{\"returnType\": \"" + type(result) + "\", \"parameterTypes\": " + parameters
                + switch (kind) {
                    case PLAIN -> "}";
                    case CRITICAL -> ", \"options\": {\"critical\": {\"allowHeapAccess\": false}}}";
                    case ERRNO -> ", \"options\": {\"captureCallState\": true}}";
                };
    }

    /** Returns the name that {@code native-image} has for a layout. */
    private static String type(MemoryLayout layout) {
        return switch (layout) {
            case ValueLayout.OfInt i -> "jint";
            case ValueLayout.OfLong l -> "jlong";
            case AddressLayout a -> "void*";
            default -> throw new AssertionError("a descriptor has a new type: " + layout);
        };
    }

    private static List<String> reflection() {
        Map<String, String> types = new TreeMap<>();
        // The JDK makes the provider that a system property names.
        types.put(
                RdmaSelectorProvider.class.getName(), "\"methods\": [{\"name\": \"<init>\", \"parameterTypes\": []}]");
        types.put("sun.nio.ch.DefaultSelectorProvider", "\"methods\": [{\"name\": \"get\", \"parameterTypes\": []}]");
        FIELDS.forEach((type, names) -> types.put(
                type,
                names.stream()
                        .map(name -> "{\"name\": \"" + name + "\"}")
                        .collect(Collectors.joining(", ", "\"fields\": [", "]"))));
        return types.entrySet().stream()
                .map(entry -> "{\"type\": \"" + entry.getKey() + "\", " + entry.getValue() + "}")
                .toList();
    }
}
