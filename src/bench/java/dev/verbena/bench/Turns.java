package dev.verbena.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * Round trips between two processes that stay, and take turns with other programs. They sleep between their turns.
 *
 * <p>Short turns are needed on a virtual machine. Its processors may be moved apart for some seconds; a round trip between
 * them may then take twice as long. Turns that follow each other closely mostly meet the same conditions.
 */
final class Turns {
    /**
     * The round trips between two times. Times are noted from the first round trip on. A branch that is first taken at the
     * end of the warm-up would have the JVM compile the loop again, in the middle of the measurement: while two processes
     * poll on two processors, this takes longer than all measured round trips, which are then slow.
     */
    static final int STEP = 500;

    private static final String TURN = "turn";

    private final int warm;
    private final int rounds;
    private final RoundTrips roundTrips;

    /** The round trips of one end. */
    interface RoundTrips {
        /** Makes a multiple of {@value Turns#STEP} round trips. Returns the time of each {@value Turns#STEP}th one. */
        long[] run(int rounds) throws InterruptedException;
    }

    /** Tells the other end whether there is one more turn. No message of that turn may reach it within the last one. */
    interface Call {
        void send(boolean more) throws IOException, InterruptedException;
    }

    /** Waits until the other end tells whether there is one more turn. */
    interface Answer {
        boolean isOneMore() throws IOException, InterruptedException;
    }

    /** Takes the round trips of the warm-up, at least, and of a turn, which are a multiple of {@value #STEP}. */
    Turns(int warm, int rounds, RoundTrips roundTrips) {
        this.warm = warm;
        this.rounds = rounds;
        this.roundTrips = roundTrips;
    }

    /**
     * Takes a turn for each line "turn" of the input, after the warm-up, and prints its time. The warm-up is turns as well:
     * the JVM compiles a loop that is entered anew once more.
     */
    void lead(Call call) throws IOException, InterruptedException {
        for (int made = 0; made < warm; made += STEP + rounds) {
            take(call);
        }
        System.out.println("ready");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (TURN.equals(input.readLine())) {
            long[] times = take(call);
            double micros = (times[rounds / STEP + 1] - times[1]) / 1000.0;
            System.out.printf(
                    Locale.ROOT, "%d iters in %.2f seconds = %.2f usec/iter%n", rounds, micros / 1e6, micros / rounds);
        }
        call.send(false);
    }

    private long[] take(Call call) throws IOException, InterruptedException {
        call.send(true);
        return roundTrips.run(STEP + rounds);
    }

    /** Takes part in the turns of the other end. */
    void follow(Answer answer) throws IOException, InterruptedException {
        while (answer.isOneMore()) {
            roundTrips.run(STEP + rounds);
        }
    }
}
