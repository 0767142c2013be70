package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.UnsupportedVerbException;
import java.util.Optional;
import java.util.function.Supplier;

/** Features that some devices lack: a test tries, and where the device can't it makes sure that it is told so, and why. */
public final class Unsupported {
    private Unsupported() {}

    /**
     * What a feature makes; nothing where the device lacks it and says so as it should.
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
