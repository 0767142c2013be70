package dev.verbena.tools.command;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Round trips of a tool that take turns with other programs, so that all are measured under the same conditions: the speed of
 * a virtual machine changes within seconds. The tool sleeps between its turns.
 */
public final class Turns {
    /** The round trips that begin a turn, and are not measured: both ends have slept before. */
    public static final int BEFORE = 500;

    private static final String TURN = "turn";

    private Turns() {}

    /** The round trips of a turn. */
    @FunctionalInterface
    public interface Turn {
        /**
         * Makes {@link #BEFORE} round trips, and then those that are measured.
         *
         * @return the nanoseconds of the latter
         * @throws IOException if the peer has gone
         * @throws InterruptedException if the thread was interrupted
         */
        long take() throws IOException, InterruptedException;
    }

    /**
     * Takes turns for the warm-up, and prints "ready". Then takes a turn for each line "turn" of the standard input, and prints
     * its time. The warm-up is turns as well: the JVM compiles a loop that is entered anew once more.
     *
     * @param warm the number of round trips of the warm-up, at least
     * @param rounds the number of round trips that a turn measures
     * @param turn makes the round trips
     * @param out takes the times
     * @throws IOException if the peer has gone
     * @throws InterruptedException if the thread was interrupted
     */
    public static void lead(int warm, int rounds, Turn turn, PrintStream out) throws IOException, InterruptedException {
        for (int made = 0; made < warm; made += BEFORE + rounds) {
            turn.take();
        }
        out.println("ready");
        out.flush();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (TURN.equals(input.readLine())) {
            out.println(result(rounds, turn.take()));
            out.flush();
        }
    }

    /**
     * Returns the line for the time of round trips, as {@code ibv_rc_pingpong} prints it.
     *
     * @param rounds the number of round trips
     * @param nanos the nanoseconds of all
     * @return the line
     */
    public static String result(int rounds, long nanos) {
        return String.format(
                Locale.ROOT, "%d iters in %.2f seconds = %.2f usec/iter", rounds, nanos / 1e9, nanos / 1e3 / rounds);
    }
}
