package dev.verbena.mutate;

import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** A visitor that asks a subclass before each instruction. */
abstract class InstructionVisitor extends MethodVisitor {
    InstructionVisitor(MethodVisitor next) {
        super(Opcodes.ASM9, next);
    }

    /** Writes instructions before the next one; returns true if they replace it. */
    abstract boolean replace();

    @Override
    public void visitInsn(int opcode) {
        if (!replace()) {
            super.visitInsn(opcode);
        }
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
        if (!replace()) {
            super.visitIntInsn(opcode, operand);
        }
    }

    @Override
    public void visitVarInsn(int opcode, int variable) {
        if (!replace()) {
            super.visitVarInsn(opcode, variable);
        }
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
        if (!replace()) {
            super.visitTypeInsn(opcode, type);
        }
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String type) {
        if (!replace()) {
            super.visitFieldInsn(opcode, owner, name, type);
        }
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
        if (!replace()) {
            super.visitMethodInsn(opcode, owner, name, type, isInterface);
        }
    }

    @Override
    public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
        if (!replace()) {
            super.visitInvokeDynamicInsn(name, type, bootstrap, arguments);
        }
    }

    @Override
    public void visitJumpInsn(int opcode, Label label) {
        if (!replace()) {
            super.visitJumpInsn(opcode, label);
        }
    }

    @Override
    public void visitLdcInsn(Object value) {
        if (!replace()) {
            super.visitLdcInsn(value);
        }
    }

    @Override
    public void visitIincInsn(int variable, int increment) {
        if (!replace()) {
            super.visitIincInsn(variable, increment);
        }
    }

    @Override
    public void visitTableSwitchInsn(int min, int max, Label other, Label... labels) {
        if (!replace()) {
            super.visitTableSwitchInsn(min, max, other, labels);
        }
    }

    @Override
    public void visitLookupSwitchInsn(Label other, int[] keys, Label[] labels) {
        if (!replace()) {
            super.visitLookupSwitchInsn(other, keys, labels);
        }
    }

    @Override
    public void visitMultiANewArrayInsn(String type, int dimensions) {
        if (!replace()) {
            super.visitMultiANewArrayInsn(type, dimensions);
        }
    }
}
