package dev.verbena.mutate;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Puts a call of {@link Hits} at the begin of each line of a class, in each method. */
final class Probes {
    private static final String HITS = "dev/verbena/mutate/Hits";

    private Probes() {}

    /** Returns the class with its probes. */
    static byte[] into(byte[] classFile) {
        ClassReader reader = new ClassReader(classFile);
        String owner = reader.getClassName();
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String signature, String[] exceptions) {
                        MethodVisitor next = super.visitMethod(access, name, type, signature, exceptions);
                        return name.equals("<clinit>")
                                ? new Initializer(next, owner, name, type)
                                : new Probing(next, owner, name, type);
                    }
                },
                0);
        return writer.toByteArray();
    }

    private static class Probing extends InstructionVisitor {
        private final String owner;
        private final String name;
        private final String type;
        private int line = -1;

        Probing(MethodVisitor next, String owner, String name, String type) {
            super(next);
            this.owner = owner;
            this.name = name;
            this.type = type;
        }

        @Override
        public void visitLineNumber(int number, Label start) {
            super.visitLineNumber(number, start);
            line = number;
        }

        /** Puts the probe before an instruction, which is after the frame that belongs to the line's label. */
        @Override
        boolean replace() {
            if (line >= 0) {
                mv.visitLdcInsn(Hits.number(Hits.key(owner, name, type, line)));
                call("hit", "(I)V");
                line = -1;
            }
            return false;
        }

        /** Puts no probe before NEW: stack frames name an object without a constructor by the place of its NEW. */
        @Override
        public void visitTypeInsn(int opcode, String type) {
            if (opcode == Opcodes.NEW) {
                mv.visitTypeInsn(opcode, type);
            } else {
                super.visitTypeInsn(opcode, type);
            }
        }

        void call(String method, String descriptor) {
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, HITS, method, descriptor, false);
        }
    }

    /** A static initializer: the lines that it runs, also in other methods, run once in a JVM. */
    private static final class Initializer extends Probing {
        Initializer(MethodVisitor next, String owner, String name, String type) {
            super(next, owner, name, type);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            call("enterInitializer", "()V");
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == Opcodes.RETURN) {
                call("leaveInitializer", "()V");
            }
            super.visitInsn(opcode);
        }
    }
}
