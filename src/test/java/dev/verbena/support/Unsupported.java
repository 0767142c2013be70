package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.UnsupportedVerbException;
import java.util.Optional;
import java.util.function.Supplier;

/** Features that some devices lack. A test tries a feature; if the device lacks it, the test checks the exception. */
public final class Unsupported {
    private Unsupported() {}

    /**
     * Returns the result of a feature, or nothing if the device lacks it and the exception says so.
     *
     * @param verb the C function that would refuse
     */
    public static <T> Optional<T> orSaysSo(String verb, Supplier<T> feature) {
        try {
            return Optional.of(feature.get());
        } catch (UnsupportedVerbException e) {
            assertSaysSo(verb, e);
            return Optional.empty();
        }
    }

    public static boolean orSaysSo(String verb, Runnable feature) {
        return orSaysSo(verb, () -> {
                    feature.run();
                    return true;
                })
                .isPresent();
    }

    private static void assertSaysSo(String verb, UnsupportedVerbException e) {
        assertThat(e.verb()).isEqualTo(verb);
        assertThat(e.getMessage())
                .startsWith(verb + "(")
                .containsAnyOf("can't do it", "or newer is needed", "is unchanged");
    }
}
