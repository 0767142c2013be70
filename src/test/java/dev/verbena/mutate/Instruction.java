package dev.verbena.mutate;

import org.jspecify.annotations.Nullable;
import org.objectweb.asm.Label;

/**
 * An instruction of a method, with the operands that matter to the mutators.
 *
 * @param opcode the opcode
 * @param line the line in the source, or 0
 * @param owner the class of a field or method, or ""
 * @param name the name of a field or method, or ""
 * @param type the descriptor of a field or method, or ""
 * @param value the constant that is loaded, the number of a variable, or null
 * @param target the target of a jump, or null
 */
record Instruction(
        int opcode,
        int line,
        String owner,
        String name,
        String type,
        @Nullable Object value,
        @Nullable Label target) {

    /** Returns true if the instruction is a call of a method with this name. */
    boolean calls(String method) {
        return name.equals(method) && type.startsWith("(");
    }
}
