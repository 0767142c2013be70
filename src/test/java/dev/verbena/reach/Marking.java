package dev.verbena.reach;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Has each method of a class note in {@link Reach} that it runs. A nested class counts as its top-level class. */
final class Marking {
    private static final String REACH = "dev/verbena/reach/Reach";

    private final Map<String, Integer> numbers = new LinkedHashMap<>();

    /** Returns the class with the marks. */
    byte[] mark(String topLevel, byte[] classFile) {
        int number = numbers.computeIfAbsent(topLevel, any -> numbers.size());
        ClassReader reader = new ClassReader(classFile);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String type, String signature, String[] exceptions) {
                        return new AtStart(super.visitMethod(access, name, type, signature, exceptions), number);
                    }
                },
                0);
        return writer.toByteArray();
    }

    /** Returns the marked classes in the order of their numbers. */
    List<String> classes() {
        return List.copyOf(numbers.keySet());
    }

    private static final class AtStart extends MethodVisitor {
        private final int number;

        AtStart(MethodVisitor next, int number) {
            super(Opcodes.ASM9, next);
            this.number = number;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            visitFieldInsn(Opcodes.GETSTATIC, REACH, "RAN", "[Z");
            visitIntInsn(Opcodes.SIPUSH, number);
            visitInsn(Opcodes.ICONST_1);
            visitInsn(Opcodes.BASTORE);
        }
    }
}
