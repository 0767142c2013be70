package dev.verbena.mutate;

import dev.verbena.mutate.Mutant.Kind;
import java.util.concurrent.atomic.AtomicBoolean;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Puts a mutant into a class file. No change needs new stack frames. */
final class Seeder {
    private Seeder() {}

    /** Returns the class file with the bug. */
    static byte[] seed(byte[] classFile, Mutant mutant) {
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        AtomicBoolean done = new AtomicBoolean();
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String signature, String[] exceptions) {
                        MethodVisitor next = super.visitMethod(access, name, type, signature, exceptions);
                        return name.equals(mutant.method()) && type.equals(mutant.descriptor())
                                ? new Seeding(next, mutant, done)
                                : next;
                    }
                },
                0);
        if (!done.get()) {
            throw new IllegalArgumentException("no such place in the class: " + mutant);
        }
        return writer.toByteArray();
    }

    private static final class Seeding extends InstructionVisitor {
        private final Mutant mutant;
        private final AtomicBoolean done;
        private int index = -1;

        Seeding(MethodVisitor next, Mutant mutant, AtomicBoolean done) {
            super(next);
            this.mutant = mutant;
            this.done = done;
        }

        @Override
        boolean replace() {
            index++;
            boolean here = index == mutant.index();
            if (here) {
                done.set(true);
                if (mutant.kind() == Kind.RETURN) {
                    replaceResult();
                }
            }
            return false;
        }

        private boolean isNext(Kind kind) {
            return index + 1 == mutant.index() && mutant.kind() == kind;
        }

        @Override
        public void visitInsn(int opcode) {
            if (isNext(Kind.OPERATOR)) {
                super.visitInsn(Operators.replacement(opcode));
            } else if (isNext(Kind.CONSTANT)) {
                boolean isLong = opcode == Opcodes.LCONST_0 || opcode == Opcodes.LCONST_1;
                long value = opcode - (isLong ? Opcodes.LCONST_0 : Opcodes.ICONST_0);
                change(isLong ? (Object) value : (Object) (int) value);
            } else {
                super.visitInsn(opcode);
            }
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            if (isNext(Kind.CONSTANT)) {
                change(operand);
            } else {
                super.visitIntInsn(opcode, operand);
            }
        }

        @Override
        public void visitLdcInsn(Object value) {
            if (isNext(Kind.CONSTANT)) {
                change(value);
            } else {
                super.visitLdcInsn(value);
            }
        }

        private void change(Object value) {
            super.visitLdcInsn(
                    value instanceof Long number
                            ? (Object) (number == 1 ? 0 : number + 1)
                            : (Object) ((Integer) value == 1 ? 0 : (Integer) value + 1));
        }

        @Override
        public void visitIincInsn(int variable, int increment) {
            super.visitIincInsn(variable, isNext(Kind.OPERATOR) ? -increment : increment);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String type) {
            super.visitFieldInsn(opcode, owner, isNext(Kind.FIELD) ? mutant.choice() : name, type);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            if (isNext(Kind.NEGATED)) {
                super.visitJumpInsn(Operators.negated(opcode), label);
            } else if (isNext(Kind.BOUNDARY)) {
                super.visitJumpInsn(Operators.boundary(opcode), label);
            } else if (isNext(Kind.CHECK)) { // a conditional jump that is always taken: what follows stays reachable
                boolean two = opcode >= Opcodes.IF_ICMPEQ && opcode <= Opcodes.IF_ACMPNE;
                mv.visitInsn(two ? Opcodes.POP2 : Opcodes.POP);
                mv.visitInsn(Opcodes.ICONST_0);
                super.visitJumpInsn(Opcodes.IFEQ, label);
            } else {
                super.visitJumpInsn(opcode, label);
            }
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
            if (isNext(Kind.CALL)) {
                replace();
                pop(Type.getArgumentTypes(type));
                if (opcode != Opcodes.INVOKESTATIC) {
                    mv.visitInsn(Opcodes.POP);
                }
                push(Type.getReturnType(type));
            } else {
                if (isNext(Kind.SWAPPED)) {
                    swap(last(type));
                }
                super.visitMethodInsn(opcode, owner, name, type, isInterface);
            }
        }

        private static Type last(String type) {
            Type[] arguments = Type.getArgumentTypes(type);
            return arguments[arguments.length - 1];
        }

        private void swap(Type type) {
            if (type.getSize() == 2) {
                mv.visitInsn(Opcodes.DUP2_X2);
                mv.visitInsn(Opcodes.POP2);
            } else {
                mv.visitInsn(Opcodes.SWAP);
            }
        }

        private void pop(Type[] arguments) {
            for (int i = arguments.length - 1; i >= 0; i--) {
                mv.visitInsn(arguments[i].getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
            }
        }

        private void push(Type type) {
            switch (type.getSort()) {
                case Type.VOID -> {}
                case Type.LONG -> mv.visitInsn(Opcodes.LCONST_0);
                case Type.FLOAT -> mv.visitInsn(Opcodes.FCONST_0);
                case Type.DOUBLE -> mv.visitInsn(Opcodes.DCONST_0);
                case Type.OBJECT, Type.ARRAY -> mv.visitInsn(Opcodes.ACONST_NULL);
                default -> mv.visitInsn(Opcodes.ICONST_0);
            }
        }

        /** Takes the result from the stack and puts another one there. */
        private void replaceResult() {
            Type type = Type.getReturnType(mutant.descriptor());
            mv.visitInsn(type.getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
            String value = mutant.choice();
            switch (value) {
                case "\"\"" -> mv.visitLdcInsn("");
                case "List.of()" -> make("java/util/List", "of", true);
                case "Set.of()" -> make("java/util/Set", "of", true);
                case "Map.of()" -> make("java/util/Map", "of", true);
                case "Optional.empty()" -> make("java/util/Optional", "empty", false);
                case "true" -> mv.visitInsn(Opcodes.ICONST_1);
                case "1" -> {
                    switch (type.getSort()) {
                        case Type.LONG -> mv.visitInsn(Opcodes.LCONST_1);
                        case Type.FLOAT -> mv.visitInsn(Opcodes.FCONST_1);
                        case Type.DOUBLE -> mv.visitInsn(Opcodes.DCONST_1);
                        default -> mv.visitInsn(Opcodes.ICONST_1);
                    }
                }
                default -> push(type);
            }
        }

        private void make(String owner, String name, boolean isInterface) {
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, owner, name, "()L" + owner + ";", isInterface);
        }
    }
}
