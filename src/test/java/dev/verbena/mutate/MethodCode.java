package dev.verbena.mutate;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** The instructions of a method. The index of an instruction is its place among all instructions of the method. */
class MethodCode extends MethodVisitor {
    private final List<Instruction> instructions = new ArrayList<>();
    private final Map<Label, Integer> places = new HashMap<>();
    private final List<Label> finallyHandlers = new ArrayList<>();
    private int line;
    private boolean generated;

    MethodCode() {
        super(Opcodes.ASM9);
    }

    List<Instruction> instructions() {
        return instructions;
    }

    /** Returns true if the compiler wrote the method, as it does for {@code equals} of a record. */
    boolean isGenerated() {
        return generated;
    }

    /**
     * Returns the indexes of the copies of finally blocks that run after an exception. The compiler also puts a copy at each
     * other end of the block.
     */
    BitSet copiesAfterExceptions() {
        BitSet copies = new BitSet();
        for (Label handler : finallyHandlers) {
            int begin = indexOf(handler);
            int end = begin;
            while (end < instructions.size() && at(end).opcode() != Opcodes.ATHROW) {
                end++;
            }
            copies.set(begin, end);
        }
        return copies;
    }

    /** Returns the indexes of assert statements, and of the code that asks whether assertions are enabled. */
    BitSet assertions() {
        BitSet found = new BitSet();
        for (int i = 0; i < instructions.size(); i++) {
            if (at(i).name().equals("$assertionsDisabled")) {
                found.set(i, Math.max(i + 1, indexOf(at(i + 1).target())));
            } else if (at(i).calls("desiredAssertionStatus")) {
                for (int after = i; !at(after).name().equals("$assertionsDisabled"); after++) {
                    found.set(after);
                }
            }
        }
        return found;
    }

    /** Returns the index of the instruction that a jump leads to. */
    int indexOf(@Nullable Label target) {
        return places.getOrDefault(target, -1);
    }

    /** Returns the instruction at an index, or one without a meaning if there is none. */
    Instruction at(int index) {
        return index >= 0 && index < instructions.size()
                ? instructions.get(index)
                : new Instruction(Opcodes.NOP, 0, "", "", "", null, null);
    }

    private void add(int opcode) {
        add(opcode, "", "", "", null, null);
    }

    private void add(
            int opcode, String owner, String name, String type, @Nullable Object value, @Nullable Label target) {
        instructions.add(new Instruction(opcode, line, owner, name, type, value, target));
    }

    @Override
    public void visitTryCatchBlock(Label start, Label end, Label handler, @Nullable String type) {
        if (type == null) {
            finallyHandlers.add(handler);
        }
    }

    @Override
    public void visitLineNumber(int number, Label start) {
        line = number;
    }

    @Override
    public void visitLabel(Label label) {
        places.put(label, instructions.size());
    }

    @Override
    public void visitInsn(int opcode) {
        Object constant = switch (opcode) {
            case Opcodes.ICONST_M1,
                    Opcodes.ICONST_0,
                    Opcodes.ICONST_1,
                    Opcodes.ICONST_2,
                    Opcodes.ICONST_3,
                    Opcodes.ICONST_4,
                    Opcodes.ICONST_5 -> opcode - Opcodes.ICONST_0;
            case Opcodes.LCONST_0, Opcodes.LCONST_1 -> (long) (opcode - Opcodes.LCONST_0);
            default -> null;
        };
        add(opcode, "", "", "", constant, null);
    }

    @Override
    public void visitIntInsn(int opcode, int operand) {
        add(opcode, "", "", "", opcode == Opcodes.NEWARRAY ? null : operand, null);
    }

    @Override
    public void visitVarInsn(int opcode, int variable) {
        add(opcode, "", "", "", variable, null);
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
        add(opcode, type, "", "", null, null);
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String type) {
        add(opcode, owner, name, type, null, null);
    }

    @Override
    public void visitMethodInsn(int opcode, String owner, String name, String type, boolean isInterface) {
        add(opcode, owner, name, type, null, null);
    }

    @Override
    public void visitInvokeDynamicInsn(String name, String type, Handle bootstrap, Object... arguments) {
        generated |= bootstrap.getOwner().equals("java/lang/runtime/ObjectMethods");
        add(Opcodes.INVOKEDYNAMIC);
    }

    @Override
    public void visitJumpInsn(int opcode, Label label) {
        add(opcode, "", "", "", null, label);
    }

    @Override
    public void visitLdcInsn(Object value) {
        add(Opcodes.LDC, "", "", "", value instanceof Integer || value instanceof Long ? value : null, null);
    }

    @Override
    public void visitIincInsn(int variable, int increment) {
        add(Opcodes.IINC, "", "", "", increment, null);
    }

    @Override
    public void visitTableSwitchInsn(int min, int max, Label other, Label... labels) {
        add(Opcodes.TABLESWITCH);
    }

    @Override
    public void visitLookupSwitchInsn(Label other, int[] keys, Label[] labels) {
        add(Opcodes.LOOKUPSWITCH);
    }

    @Override
    public void visitMultiANewArrayInsn(String type, int dimensions) {
        add(Opcodes.MULTIANEWARRAY);
    }
}
