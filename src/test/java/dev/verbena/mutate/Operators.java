package dev.verbena.mutate;

import static org.objectweb.asm.Opcodes.*;

/** The opcodes that stand for one another. */
final class Operators {
    private Operators() {}

    /** Returns the jump that is taken exactly when this one is not. */
    static int negated(int jump) {
        return switch (jump) {
            case IFEQ -> IFNE;
            case IFNE -> IFEQ;
            case IFLT -> IFGE;
            case IFGE -> IFLT;
            case IFGT -> IFLE;
            case IFLE -> IFGT;
            case IF_ICMPEQ -> IF_ICMPNE;
            case IF_ICMPNE -> IF_ICMPEQ;
            case IF_ICMPLT -> IF_ICMPGE;
            case IF_ICMPGE -> IF_ICMPLT;
            case IF_ICMPGT -> IF_ICMPLE;
            case IF_ICMPLE -> IF_ICMPGT;
            case IF_ACMPEQ -> IF_ACMPNE;
            case IF_ACMPNE -> IF_ACMPEQ;
            case IFNULL -> IFNONNULL;
            case IFNONNULL -> IFNULL;
            default -> throw new IllegalArgumentException("no conditional jump: " + jump);
        };
    }

    /** Returns the jump that treats equality in the other way, or {@code NOP}. */
    static int boundary(int jump) {
        return switch (jump) {
            case IFLT -> IFLE;
            case IFLE -> IFLT;
            case IFGT -> IFGE;
            case IFGE -> IFGT;
            case IF_ICMPLT -> IF_ICMPLE;
            case IF_ICMPLE -> IF_ICMPLT;
            case IF_ICMPGT -> IF_ICMPGE;
            case IF_ICMPGE -> IF_ICMPGT;
            default -> NOP;
        };
    }

    /** Describes a change of the boundary for the condition in the source, which javac negates; "" if there is none. */
    static String describeBoundary(int jump) {
        return switch (jump) {
            case IFLT, IF_ICMPLT -> ">= is >";
            case IFLE, IF_ICMPLE -> "> is >=";
            case IFGT, IF_ICMPGT -> "<= is <";
            case IFGE, IF_ICMPGE -> "< is <=";
            default -> "";
        };
    }

    /** Returns the operator that takes the place of another one, or {@code NOP}. */
    static int replacement(int operator) {
        return switch (operator) {
            case IADD -> ISUB;
            case ISUB -> IADD;
            case IMUL -> IDIV;
            case IDIV -> IMUL;
            case IREM -> IMUL;
            case IAND -> IOR;
            case IOR -> IAND;
            case IXOR -> IAND;
            case ISHL -> ISHR;
            case ISHR, IUSHR -> ISHL;
            case LADD -> LSUB;
            case LSUB -> LADD;
            case LMUL -> LDIV;
            case LDIV -> LMUL;
            case LREM -> LMUL;
            case LAND -> LOR;
            case LOR -> LAND;
            case LXOR -> LAND;
            case LSHL -> LSHR;
            case LSHR, LUSHR -> LSHL;
            case DADD -> DSUB;
            case DSUB -> DADD;
            case DMUL -> DDIV;
            case DDIV -> DMUL;
            default -> NOP;
        };
    }

    /** Describes the replacement of an operator. */
    static String describe(int operator) {
        return symbol(operator) + " is " + symbol(replacement(operator));
    }

    private static String symbol(int operator) {
        return switch (operator) {
            case IADD, LADD, DADD -> "+";
            case ISUB, LSUB, DSUB -> "-";
            case IMUL, LMUL, DMUL -> "*";
            case IDIV, LDIV, DDIV -> "/";
            case IREM, LREM -> "%";
            case IAND, LAND -> "&";
            case IOR, LOR -> "|";
            case IXOR, LXOR -> "^";
            case ISHL, LSHL -> "<<";
            case ISHR, LSHR -> ">>";
            case IUSHR, LUSHR -> ">>>";
            default -> "operator " + operator;
        };
    }
}
