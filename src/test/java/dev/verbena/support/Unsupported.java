package dev.verbena.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import dev.verbena.UnsupportedVerbException;
import java.util.function.Supplier;

/**
 * Features that some devices lack. A test tries a feature. If the device lacks it, the exception must say so, and the test
 * is aborted: it counts as skipped, with the exception's message as the reason.
 */
public final class Unsupported {
    private Unsupported() {}

    /**
     * Returns the result of a feature, or aborts the test if the device lacks it and the exception says so.
     *
     * @param verb the C function that refuses
     * @param words words of the message, where it is not the usual one
     */
    public static <T> T orAborts(String verb, Supplier<T> feature, String... words) {
        try {
            return feature.get();
        } catch (UnsupportedVerbException e) {
            return aborts(verb, e, words);
        }
    }

    /** Aborts the test if the device lacks a feature and the exception says so. */
    public static void orAborts(String verb, Runnable feature, String... words) {
        try {
            feature.run();
        } catch (UnsupportedVerbException e) {
            aborts(verb, e, words);
        }
    }

    /** Aborts the test if the exception says that the device lacks a feature. */
    public static <T> T aborts(String verb, UnsupportedVerbException e, String... words) {
        assertSaysSo(verb, e, words);
        return abort("the device lacks it: " + e.getMessage());
    }

    /** Returns true if the device lacks a feature and the exception says so. */
    public static boolean isRefused(String verb, Runnable feature, String... words) {
        try {
            feature.run();
            return false;
        } catch (UnsupportedVerbException e) {
            assertSaysSo(verb, e, words);
            return true;
        }
    }

    /** Checks that an exception says that the device lacks a feature. */
    public static void assertSaysSo(String verb, UnsupportedVerbException e, String... words) {
        assertThat(e.verb()).isEqualTo(verb);
        assertThat(e.getMessage()).startsWith(verb + "(");
        if (words.length > 0) {
            assertThat(e.getMessage()).contains(words);
        } else {
            assertThat(e.getMessage()).containsAnyOf("can't do it", "or newer is needed", "is unchanged");
        }
    }
}
