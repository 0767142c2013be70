package dev.verbena.walk;

import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/** The sums of walks that follow one another. */
record Walks(long steps, long skipped, long refused, Map<String, Integer> events) {
    /** Takes walks until they have so many steps, and prints the sums. */
    static Walks take(long seed, long count) {
        System.out.println("walks begin with the seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        long began = System.nanoTime();
        long steps = 0;
        long skipped = 0;
        long refused = 0;
        Map<String, Integer> events = new TreeMap<>();
        while (steps < count) {
            Walk.Result result = new Walk(random.nextLong()).run();
            steps += result.steps();
            skipped += result.skipped();
            refused += result.refused();
            result.events().forEach((event, times) -> events.merge(event, times, Integer::sum));
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.printf(
                "%d steps in %.1f s: %d found nothing to work with, %d calls were refused%n",
                steps, seconds, skipped, refused);
        System.out.println("among them: " + events);
        return new Walks(steps, skipped, refused, events);
    }
}
