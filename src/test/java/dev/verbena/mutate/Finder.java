package dev.verbena.mutate;

import dev.verbena.mutate.Mutant.Kind;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Finds the mutants of a class. It leaves out code that the compiler wrote, assertions, and changes that no test of a
 * method can see: the order of equal arguments, a further argument of zero for C, the capacity of a collection, memory that is larger than needed or never freed, a fence against the
 * garbage collector, a hash code, what a thread inherits. Of a finally block it changes the copy that runs without an
 * exception.
 */
final class Finder {
    /** Calls that change nothing that a program can see. */
    private static final Set<String> INVISIBLE =
            Set.of("reachabilityFence", "onSpinWait", "yield", "addSuppressed", "fillInStackTrace", "ensureCapacity");

    /** Types whose constructors take a capacity. */
    private static final Set<String> WITH_CAPACITY = Set.of(
            "java/lang/StringBuilder",
            "java/util/ArrayList",
            "java/util/ArrayDeque",
            "java/util/HashMap",
            "java/util/HashSet",
            "java/util/IdentityHashMap");

    private static final Map<String, String> EMPTY = Map.of(
            "java.lang.String", "\"\"",
            "java.util.List", "List.of()",
            "java.util.Collection", "List.of()",
            "java.util.Set", "Set.of()",
            "java.util.Map", "Map.of()",
            "java.util.Optional", "Optional.empty()");

    private final Function<String, byte @Nullable []> classFiles;
    private final Map<String, List<Field>> fields = new HashMap<>();

    private record Field(String name, String type, boolean isStatic, boolean isPrivate) {}

    /**
     * Makes a finder.
     *
     * @param classFiles returns the class file of an internal name, or null if the class is not ours
     */
    Finder(Function<String, byte @Nullable []> classFiles) {
        this.classFiles = classFiles;
    }

    /** Returns the mutants of a class. */
    List<Mutant> mutantsOf(byte[] classFile) {
        ClassReader reader = new ClassReader(classFile);
        List<Mutant> found = new ArrayList<>();
        if ((reader.getAccess() & Opcodes.ACC_SYNTHETIC) != 0) { // the table of a switch over an enum
            return found;
        }
        boolean isEnum = "java/lang/Enum".equals(reader.getSuperName());
        boolean isRecord = "java/lang/Record".equals(reader.getSuperName());
        reader.accept(
                new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public @Nullable MethodVisitor visitMethod(
                            int access, String name, String type, String signature, String[] exceptions) {
                        boolean synthetic = (access & Opcodes.ACC_SYNTHETIC) != 0 && !name.startsWith("lambda$");
                        if (synthetic || isEnum && (name.equals("values") || name.equals("valueOf"))) {
                            return null;
                        }
                        return new MethodCode() {
                            @Override
                            public void visitEnd() {
                                if (!isGenerated() && !(isRecord && isAccessor(this))) {
                                    new InMethod(reader.getClassName(), name, type, this, found).find();
                                }
                            }
                        };
                    }
                },
                ClassReader.SKIP_FRAMES);
        return found;
    }

    private static boolean isAccessor(MethodCode code) {
        return code.instructions().size() == 3 && code.at(1).opcode() == Opcodes.GETFIELD;
    }

    /** Returns the next field of the same type in the same class, or null if there is none. */
    private @Nullable String neighbour(Instruction read, boolean own) {
        List<Field> all = fields.computeIfAbsent(read.owner(), this::fieldsOf);
        boolean isStatic = read.opcode() == Opcodes.GETSTATIC;
        List<String> alike = all.stream()
                .filter(field -> field.type().equals(read.type()) && field.isStatic() == isStatic)
                .filter(field -> own || !field.isPrivate())
                .map(Field::name)
                .toList();
        int place = alike.indexOf(read.name());
        return alike.size() < 2 || place < 0 ? null : alike.get((place + 1) % alike.size());
    }

    private List<Field> fieldsOf(String owner) {
        byte[] classFile = classFiles.apply(owner);
        List<Field> found = new ArrayList<>();
        if (classFile != null) {
            new ClassReader(classFile)
                    .accept(
                            new ClassVisitor(Opcodes.ASM9) {
                                @Override
                                public @Nullable FieldVisitor visitField(
                                        int access, String name, String type, String signature, Object value) {
                                    if ((access & Opcodes.ACC_SYNTHETIC) == 0) {
                                        found.add(new Field(
                                                name,
                                                type,
                                                (access & Opcodes.ACC_STATIC) != 0,
                                                (access & Opcodes.ACC_PRIVATE) != 0));
                                    }
                                    return null;
                                }
                            },
                            ClassReader.SKIP_CODE);
        }
        return found;
    }

    private final class InMethod {
        private final String owner;
        private final String method;
        private final String type;
        private final MethodCode code;
        private final List<Mutant> found;

        InMethod(String owner, String method, String type, MethodCode code, List<Mutant> found) {
            this.owner = owner;
            this.method = method;
            this.type = type;
            this.code = code;
            this.found = found;
        }

        void find() {
            if (method.equals("hashCode")) {
                return;
            }
            BitSet leftOut = code.copiesAfterExceptions();
            leftOut.or(code.assertions());
            for (int i = 0; i < code.instructions().size(); i++) {
                Instruction each = code.at(i);
                if (leftOut.get(i) || each.line() == 0 || closesResource(i)) {
                    continue;
                }
                if (each.target() != null && each.opcode() != Opcodes.GOTO) {
                    conditional(i, each);
                } else if (each.opcode() >= Opcodes.IRETURN && each.opcode() <= Opcodes.ARETURN) {
                    returned(i);
                } else if (Operators.replacement(each.opcode()) != Opcodes.NOP) {
                    add(i, Kind.OPERATOR, "", Operators.describe(each.opcode()));
                } else if (each.opcode() == Opcodes.IINC) {
                    if (code.at(i + 1).opcode() != Opcodes.GOTO) { // the step of a loop, which would never end
                        add(i, Kind.OPERATOR, "", "counts in the other direction");
                    }
                } else if (each.type().startsWith("(")) {
                    call(i, each);
                } else if (each.opcode() == Opcodes.GETFIELD || each.opcode() == Opcodes.GETSTATIC) {
                    String neighbour = neighbour(each, each.owner().equals(owner));
                    if (neighbour != null) {
                        add(i, Kind.FIELD, neighbour, "reads " + neighbour + " in place of " + each.name());
                    }
                } else if (each.value() != null && isConstant(each.opcode())) {
                    constant(i, each);
                }
            }
        }

        private void add(int index, Kind kind, String choice, String what) {
            found.add(new Mutant(owner, method, type, index, code.at(index).line(), kind, choice, what));
        }

        private void conditional(int i, Instruction each) {
            int target = code.indexOf(each.target());
            if (target > i && code.at(target - 1).opcode() == Opcodes.ATHROW && target - i < 60) {
                add(i, Kind.CHECK, "", "never throws");
            } else {
                add(i, Kind.NEGATED, "", "condition negated");
            }
            String boundary = Operators.describeBoundary(each.opcode());
            if (!boundary.isEmpty()) {
                add(i, Kind.BOUNDARY, "", boundary);
            }
        }

        private void returned(int i) {
            Type result = Type.getReturnType(type);
            Instruction before = madeBefore(i - 1);
            List<String> values = switch (result.getSort()) {
                case Type.BOOLEAN -> List.of("true", "false");
                case Type.OBJECT, Type.ARRAY -> List.of(EMPTY.getOrDefault(result.getClassName(), "null"));
                default -> List.of(Long.valueOf(0).equals(number(before)) ? "1" : "0");
            };
            for (String value : values) {
                boolean same = before.opcode() == Opcodes.ACONST_NULL && value.equals("null")
                        || before.opcode() == Opcodes.ICONST_0 && value.equals("false")
                        || before.opcode() == Opcodes.ICONST_1 && value.equals("true")
                        || makes(before, value);
                if (!same) {
                    add(i, Kind.RETURN, value, "returns " + value);
                }
            }
        }

        /** Returns the instruction that makes a result. The compiler keeps the result while a finally block runs. */
        private Instruction madeBefore(int i) {
            Instruction load = code.at(i);
            boolean isLoad = load.opcode() >= Opcodes.ILOAD && load.opcode() <= Opcodes.ALOAD;
            for (int at = i - 1; isLoad && at > 0 && code.at(at).target() == null; at--) {
                Instruction store = code.at(at);
                if (store.opcode() - Opcodes.ISTORE == load.opcode() - Opcodes.ILOAD
                        && Objects.equals(store.value(), load.value())) {
                    return code.at(at - 1);
                }
            }
            return load;
        }

        private @Nullable Long number(Instruction loaded) {
            return isConstant(loaded.opcode()) && loaded.value() instanceof Number value ? value.longValue() : null;
        }

        private static boolean makes(Instruction before, String value) {
            return value.startsWith(before.owner().replaceAll(".*/", "") + ".")
                    && before.type().startsWith("()")
                    && value.endsWith("." + before.name() + "()");
        }

        private void call(int i, Instruction each) {
            if (each.name().equals("<init>")) {
                swap(i, each);
                return;
            }
            int next = code.at(i + 1).opcode();
            boolean unused = each.type().endsWith(")V") || next == Opcodes.POP || next == Opcodes.POP2;
            boolean methodReference =
                    each.calls("requireNonNull") && !each.type().contains("String");
            boolean leak = each.owner().equals("java/lang/foreign/Arena")
                    && each.name().equals("close");
            if (unused && !leak && !INVISIBLE.contains(each.name()) && !methodReference) {
                add(i, Kind.CALL, "", "does not call " + simple(each.owner()) + "." + each.name());
            }
            swap(i, each);
        }

        private void swap(int i, Instruction each) {
            Type[] arguments = Type.getArgumentTypes(each.type());
            int last = arguments.length - 1;
            if (last < 1 || !arguments[last].equals(arguments[last - 1])) {
                return;
            }
            Instruction one = code.at(i - 1);
            Instruction two = code.at(i - 2);
            boolean alike = one.opcode() == two.opcode()
                    && one.value() != null
                    && one.value().equals(two.value());
            if (!alike && !isSymmetric(each)) {
                add(i, Kind.SWAPPED, "", "swaps the last two arguments of " + simple(each.owner()) + "." + each.name());
            }
        }

        /** Returns true for a call whose result is the same if two arguments change places. */
        private static boolean isSymmetric(Instruction call) {
            return switch (call.name()) {
                case "equals" -> true;
                case "min", "max" -> call.owner().equals("java/lang/Math");
                case "of" ->
                    call.owner().equals("java/util/Set") || call.owner().equals("java/util/EnumSet");
                default -> false;
            };
        }

        private void constant(int i, Instruction each) {
            Instruction before = code.at(i - 1);
            Instruction after = code.at(i + 1);
            boolean inArguments = before.opcode() == Opcodes.DUP || after.opcode() == Opcodes.ANEWARRAY;
            boolean ordinal = method.equals("<clinit>") && code.at(i - 2).opcode() == Opcodes.DUP;
            boolean capacity = after.calls("<init>") && WITH_CAPACITY.contains(after.owner());
            long value = ((Number) Objects.requireNonNull(each.value())).longValue();
            // One more zero after the arguments of a call: C does not read it.
            boolean more = after.opcode() == Opcodes.NEWARRAY
                    && code.at(i + 2).opcode() == Opcodes.DUP
                    && !method.equals("<clinit>");
            boolean larger = value > 1 && after.calls("allocate");
            boolean inherits = after.calls("inheritInheritableThreadLocals");
            boolean isReturned = after.opcode() >= Opcodes.IRETURN && after.opcode() <= Opcodes.LRETURN;
            if (!inArguments && !ordinal && !capacity && !larger && !more && !inherits && !isReturned) {
                add(i, Kind.CONSTANT, "", value == 1 ? "1 is 0" : value + " is " + (value + 1));
            }
        }

        private static boolean isConstant(int opcode) {
            return opcode >= Opcodes.ICONST_M1 && opcode <= Opcodes.LDC;
        }

        private static String simple(String name) {
            return name.substring(name.lastIndexOf('/') + 1);
        }

        /** Code that the compiler makes for try-with-resources: a test for null, close, and the suppressed exception. */
        private boolean closesResource(int i) {
            if (code.at(i).opcode() == Opcodes.IFNULL && code.at(i + 2).calls("close")) {
                return code.at(i - 1).opcode() == Opcodes.ALOAD
                        && code.at(i + 1).opcode() == Opcodes.ALOAD
                        && Objects.equals(code.at(i - 1).value(), code.at(i + 1).value());
            }
            return code.at(i).calls("close") && (code.at(i + 5).calls("addSuppressed"));
        }
    }
}
