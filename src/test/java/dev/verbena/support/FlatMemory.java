package dev.verbena.support;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The result of a program that repeats the same work, in a JVM of its own with a heap that does not grow.
 *
 * @param output all that the program printed
 * @param grownKib the growth of its resident memory after the warm-up
 */
public record FlatMemory(String output, long grownKib) {
    private static final Pattern GROWN = Pattern.compile("grown (-?\\d+)");

    /** Runs a program with a number of cycles to warm up, and the number of cycles that are measured. */
    public static FlatMemory of(ChildJvm jvm, Class<?> program, int warmUp, int cycles) {
        String output = jvm.option("--enable-native-access=ALL-UNNAMED", "-Xms48m", "-Xmx48m", "-XX:+AlwaysPreTouch")
                .runOnClassPath(program, Integer.toString(warmUp), Integer.toString(cycles))
                .successfulOutput();
        Matcher grown = GROWN.matcher(output);
        if (!grown.find()) {
            throw new AssertionError(output);
        }
        return new FlatMemory(output, Long.parseLong(grown.group(1)));
    }
}
