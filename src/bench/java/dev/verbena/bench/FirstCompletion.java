package dev.verbena.bench;

import dev.verbena.VerbsArena;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Opens the device, connects a queue pair to itself, posts a write and polls its completion; then prints the time. */
final class FirstCompletion {
    private FirstCompletion() {}

    /** Takes no arguments. */
    public static void main(String[] args) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            if (new Loops(Row.SINGLE, arena, 0).single().once(1) != 0) {
                throw new AssertionError("the first completion is not what was posted");
            }
            System.out.println("completed " + ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()));
        }
    }
}
