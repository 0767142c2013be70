package dev.verbena.ledger;

import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Puts {@link CallHooks} into the bytecode of the library's classes. All C functions are called through handles that the
 * JDK's linker makes, with addresses that were looked up by name or read from a struct: so the hooks sit where a handle is
 * linked, where a name is looked up, where a function pointer is read, and where a {@code VerbsException} is made. No
 * class or method of the library is named here but that exception.
 */
public final class CallCounting {
    private static final String INTERNAL = "dev/verbena/internal/";
    private static final String BINDINGS = INTERNAL + "raw/";
    private static final String LINKER = "java/lang/foreign/Linker";
    private static final String LOOKUP = "java/lang/foreign/SymbolLookup";
    private static final String OPTIONAL = "Ljava/util/Optional;";
    private static final String SEGMENT = "Ljava/lang/foreign/MemorySegment;";
    /** Not taken from the class, which must not be loaded before it is changed. */
    private static final String FAILURE = "dev/verbena/VerbsException";

    private static final String HOOKS = "dev/verbena/ledger/CallHooks";

    /** The members that are not named as their function is. */
    private static final Map<String, String> ODD_MEMBERS = Map.of("ibv_wq.post_recv", "ibv_post_wq_recv");

    private final Set<String> functions = CFunctions.all().keySet();
    private final Predicate<String> exists;
    private final Map<Hook, Set<String>> hooked = new TreeMap<>();

    /** Kinds of places in the library's bytecode. */
    enum Hook {
        /** A handle is linked. */
        LINK,
        /** A function is looked up by its name. */
        LOOKUP,
        /** A function pointer is read from a struct: the C name. */
        MEMBER,
        /** A function pointer is read from a context: the class. */
        CONTEXT,
        /** An exception is made. */
        FAILURE
    }

    /**
     * Makes a transformer.
     *
     * @param exists tells whether there is a class file of a name
     */
    public CallCounting(Predicate<String> exists) {
        this.exists = exists;
    }

    /** Returns the class with the hooks, or null if the class has no place for one. */
    public byte @Nullable [] transform(byte[] classFile) {
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        Hooking hooking = new Hooking(writer);
        reader.accept(hooking, 0);
        return hooking.changed ? writer.toByteArray() : null;
    }

    /** Returns the places found so far. */
    Map<Hook, Set<String>> hooked() {
        return hooked;
    }

    private final class Hooking extends ClassVisitor {
        private final Set<String> members = new HashSet<>();
        private String owner = "";
        private boolean isEnum;
        private boolean changed;

        Hooking(ClassVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visit(
                int version, int access, String name, String signature, String superName, String[] interfaces) {
            owner = name;
            isEnum = (access & Opcodes.ACC_ENUM) != 0;
            super.visit(version, access, name, signature, superName, interfaces);
        }

        /** A member that points to a function has a class of its own in the bindings, with the function's interface. */
        @Override
        public void visitInnerClass(String name, String outerName, String innerName, int access) {
            if (owner.equals(outerName) && owner.startsWith(BINDINGS) && exists.test(name + "$Function.class")) {
                members.add(innerName);
            }
            super.visitInnerClass(name, outerName, innerName, access);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String type, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, name, type, signature, exceptions);
            boolean isStatic = (access & Opcodes.ACC_STATIC) != 0;
            if (isStatic && type.equals("(" + SEGMENT + ")" + SEGMENT)) {
                Optional<String> function = members.contains(name)
                        ? functionOf(name)
                        : owner.startsWith(INTERNAL) && !owner.startsWith(BINDINGS)
                                ? functionNamed(name)
                                : Optional.empty();
                if (function.isPresent()) {
                    found(Hook.MEMBER, function.get());
                    return new AtReturn(next, () -> {
                        next.visitLdcInsn(function.get());
                        call(next, "read", "(" + SEGMENT + "Ljava/lang/String;)" + SEGMENT);
                    });
                }
            }
            if (!isStatic && isEnum && owner.startsWith(INTERNAL) && type.equals("(J)" + OPTIONAL)) {
                found(Hook.CONTEXT, owner);
                return new AtReturn(next, () -> {
                    next.visitVarInsn(Opcodes.ALOAD, 0);
                    call(next, "read", "(" + OPTIONAL + "Ljava/lang/Object;)" + OPTIONAL);
                });
            }
            if (name.equals("<init>") && owner.equals(FAILURE)) {
                return new InConstructor(next);
            }
            return new AtCalls(next);
        }

        private Optional<String> functionOf(String member) {
            String struct = owner.substring(BINDINGS.length());
            String odd = ODD_MEMBERS.get(struct + "." + member);
            return odd != null ? Optional.of(odd) : functionNamed(member);
        }

        private Optional<String> functionNamed(String member) {
            return Stream.of("ibv_" + member, "ibv_wc_" + member, member)
                    .filter(functions::contains)
                    .findFirst();
        }

        private void found(Hook hook, String place) {
            changed = true;
            hooked.computeIfAbsent(hook, any -> new TreeSet<>()).add(place);
        }

        private static void call(MethodVisitor method, String name, String type) {
            method.visitMethodInsn(Opcodes.INVOKESTATIC, HOOKS, name, type, false);
        }

        /** Replaces the calls that link and look up. */
        private class AtCalls extends MethodVisitor {
            AtCalls(MethodVisitor next) {
                super(Opcodes.ASM9, next);
            }

            @Override
            public void visitMethodInsn(int opcode, String callee, String name, String type, boolean isInterface) {
                Hook hook = hookOf(callee, name);
                if (hook == null) {
                    super.visitMethodInsn(opcode, callee, name, type, isInterface);
                } else {
                    found(hook, owner);
                    call(mv, name, type.replace("(", "(L" + callee + ";"));
                }
            }

            @Override
            public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
                for (Object argument : arguments) {
                    if (argument instanceof Handle handle && hookOf(handle.getOwner(), handle.getName()) != null) {
                        throw new IllegalStateException(
                                "The ledger hooks calls, and no method references: " + handle + " in " + owner);
                    }
                }
                super.visitInvokeDynamicInsn(name, type, bootstrap, arguments);
            }

            private static @Nullable Hook hookOf(String callee, String name) {
                return callee.equals(LINKER) && name.equals("downcallHandle")
                        ? Hook.LINK
                        : callee.equals(LOOKUP) && name.startsWith("find") ? Hook.LOOKUP : null;
            }
        }

        /** Does more before the method returns an object. */
        private final class AtReturn extends AtCalls {
            private final Runnable more;

            AtReturn(MethodVisitor next, Runnable more) {
                super(next);
                this.more = more;
            }

            @Override
            public void visitInsn(int instruction) {
                if (instruction == Opcodes.ARETURN) {
                    more.run();
                }
                super.visitInsn(instruction);
            }
        }

        /** Shows the exception at the end of that constructor which does not call another one of the class. */
        private final class InConstructor extends AtCalls {
            private boolean callsAnother;

            InConstructor(MethodVisitor next) {
                super(next);
            }

            @Override
            public void visitMethodInsn(int opcode, String callee, String name, String type, boolean isInterface) {
                callsAnother |= opcode == Opcodes.INVOKESPECIAL && callee.equals(owner) && name.equals("<init>");
                super.visitMethodInsn(opcode, callee, name, type, isInterface);
            }

            @Override
            public void visitInsn(int instruction) {
                if (instruction == Opcodes.RETURN && !callsAnother) {
                    found(Hook.FAILURE, owner);
                    mv.visitVarInsn(Opcodes.ALOAD, 0);
                    call(mv, "failed", "(L" + FAILURE + ";)V");
                }
                super.visitInsn(instruction);
            }
        }
    }
}
