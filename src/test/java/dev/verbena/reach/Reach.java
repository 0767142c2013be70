package dev.verbena.reach;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** The classes of which a method has run, as {@link Marking} has them note it. */
public final class Reach {
    /** The resource with the names of the marked classes, in the order of their numbers. */
    static final String NAMES = "dev/verbena/reach/names";

    private static final List<String> CLASSES = classes();

    /** An element for each marked class: true once a method of it has run. */
    public static final boolean[] RAN = new boolean[CLASSES.size()];

    private Reach() {}

    private static List<String> classes() {
        try (InputStream in = Reach.class.getClassLoader().getResourceAsStream(NAMES)) {
            return in == null
                    ? List.of()
                    : new String(in.readAllBytes(), StandardCharsets.UTF_8)
                            .lines()
                            .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Forgets what has run. */
    static void clear() {
        Arrays.fill(RAN, false);
    }

    /** Returns the names of the top-level classes of which a method has run. */
    static List<String> ran() {
        return IntStream.range(0, RAN.length)
                .filter(i -> RAN[i])
                .mapToObj(CLASSES::get)
                .toList();
    }
}
