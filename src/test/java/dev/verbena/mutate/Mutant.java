package dev.verbena.mutate;

/**
 * A small bug that can be put into a class.
 *
 * @param type the internal name of the class
 * @param method the name of the method
 * @param descriptor the descriptor of the method
 * @param index the index of the instruction in the method
 * @param line the line in the source
 * @param kind the kind of bug
 * @param choice a number, name or operator that the kind needs
 * @param what a description for people
 */
record Mutant(
        String type, String method, String descriptor, int index, int line, Kind kind, String choice, String what) {

    /** The kinds of bugs. */
    enum Kind {
        /** A conditional jump is taken when it should not be, and the other way round. */
        NEGATED,
        /** A comparison includes or leaves out equality. */
        BOUNDARY,
        /** An arithmetic or bitwise operator is another one. */
        OPERATOR,
        /** A method returns another value. */
        RETURN,
        /** A call whose result nobody uses is left out. */
        CALL,
        /** A number is one larger; a 1 is a 0. */
        CONSTANT,
        /** Another field of the same type is read. */
        FIELD,
        /** The last two arguments of a call change places. */
        SWAPPED,
        /** A check never throws its exception. */
        CHECK
    }

    /** Returns the name of the class in the source. */
    String className() {
        return type.replace('/', '.');
    }

    /** Returns the name of the class in the source, or of the outermost class around it. */
    String simpleName() {
        return source().replaceAll(".*/|\\.java", "");
    }

    /** Returns the path of the source below a source folder. */
    String source() {
        int nested = type.indexOf('$');
        return (nested < 0 ? type : type.substring(0, nested)) + ".java";
    }

    /** Returns the place of the bug as a file and a line. */
    String place() {
        return source() + ":" + line;
    }

    /** Returns a text that is different for each mutant of the same class files. */
    String id() {
        return String.join(
                "\t",
                type,
                method,
                descriptor,
                Integer.toString(index),
                Integer.toString(line),
                kind.name(),
                choice,
                what);
    }

    /** Returns a text that stays the same while only other methods change, and lines of this method. */
    String place(String text) {
        return String.join("\t", type, method, descriptor, Integer.toString(index), kind.name(), choice, what, text);
    }

    /** Parses {@link #id()}. */
    static Mutant of(String id) {
        String[] part = id.split("\t", -1);
        return new Mutant(
                part[0],
                part[1],
                part[2],
                Integer.parseInt(part[3]),
                Integer.parseInt(part[4]),
                Kind.valueOf(part[5]),
                part[6],
                part[7]);
    }

    /** Returns the key of the part of the class whose execution shows whether a test covers this mutant. */
    String probe() {
        return Hits.key(type, method, descriptor, line);
    }
}
