package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class OptionsTest {
    private static final class Sample extends Options<Sample> {
        private static final Keys<Sample> KEYS = new Keys<>();
        static final Key<Sample, Integer> DEPTH = KEYS.key("depth", 1);
        static final Key<Sample, String> NAME = KEYS.always("name", "none");
        static final Key<Sample, byte[]> TOKEN = KEYS.hidden("token", new byte[0]);

        Sample() {
            this(KEYS);
        }

        Sample(Keys<Sample> keys) {
            super(keys);
        }

        <V> Sample changed(Key<Sample, V> key, V value) {
            return with(key, value);
        }
    }

    @Test
    void textShowsWhatDiffersFromTheDefaults() {
        Sample sample = new Sample();
        assertThat(sample).hasToString("name none");
        assertThat(sample.changed(Sample.DEPTH, 2).changed(Sample.TOKEN, new byte[] {7}))
                .hasToString("depth 2, name none, token");
        assertThat(new Sample(new Options.Keys<>())).hasToString("defaults");
    }

    @Test
    void changeLeavesTheOriginal() {
        Sample sample = new Sample();
        Sample changed = sample.changed(Sample.DEPTH, 2);
        assertThat(Sample.DEPTH.of(changed)).isEqualTo(2);
        assertThat(Sample.DEPTH.of(sample)).isEqualTo(1);
        assertThat(changed).isNotEqualTo(sample).isEqualTo(new Sample().changed(Sample.DEPTH, 2));
    }

    @Test
    void arraysAreEqualByTheirElements() {
        Sample sample = new Sample().changed(Sample.TOKEN, new byte[] {7});
        assertThat(sample)
                .isEqualTo(new Sample().changed(Sample.TOKEN, new byte[] {7}))
                .hasSameHashCodeAs(new Sample().changed(Sample.TOKEN, new byte[] {7}))
                .isNotEqualTo(new Sample().changed(Sample.TOKEN, new byte[] {8}));
    }

    /** The row of the first options has no place for it. */
    @Test
    void keyAfterTheFirstRowIsRefused() {
        Options.Keys<Sample> keys = new Options.Keys<>();
        keys.key("early", 1);
        assertThat(new Sample(keys)).hasToString("defaults");
        assertThatIllegalStateException()
                .isThrownBy(() -> keys.key("late", 2))
                .withMessageContaining("without the key 'late'")
                .withMessageContaining("declare keys before constants that are options");
    }
}
