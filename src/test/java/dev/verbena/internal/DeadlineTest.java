package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.support.SourceTree;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Timeouts of any length become deadlines. */
class DeadlineTest {
    private static final Duration LONGEST = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);
    private static final Duration SHORTEST = Duration.ofSeconds(Long.MIN_VALUE);

    /** A conversion or sum of durations that throws when the result is too large. */
    private static final Pattern THROWS = Pattern.compile(
            "\\.(toNanos|toMillis)\\(\\)|(?i:timeout|time|patience|duration|waited)\\.(plus|minus|multipliedBy|negated)\\(");

    @Test
    void deadlineOfTheLongestTimeoutsIsNotOver() {
        assertThat(Deadline.after(LONGEST).isOver()).isFalse();
        assertThat(Deadline.after(ChronoUnit.FOREVER.getDuration()).isOver()).isFalse();
        assertThat(Deadline.after(LONGEST).remaining()).isPositive();
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0})
    void deadlineOfShortTimeoutsIsOver(long seconds) {
        assertThat(Deadline.after(Duration.ofSeconds(seconds)).isOver()).isTrue();
    }

    @Test
    void sumOfTimeoutsIsAtMostTheLongest() {
        Duration grace = Duration.ofMillis(500);
        assertThat(Deadline.sum(Duration.ofSeconds(1), grace)).isEqualTo(Duration.ofMillis(1500));
        assertThat(Deadline.sum(SHORTEST, grace)).isNegative();
        assertThat(Deadline.sum(LONGEST, grace)).isEqualTo(LONGEST);
        assertThat(Deadline.sum(ChronoUnit.FOREVER.getDuration(), grace)).isEqualTo(LONGEST);
    }

    @Test
    void millisecondsOfAnyTimeoutFit() {
        assertThat(Deadline.milliseconds(Duration.ofSeconds(2))).isEqualTo(2000);
        assertThat(Deadline.milliseconds(LONGEST)).isEqualTo(Long.MAX_VALUE);
        assertThat(Deadline.milliseconds(SHORTEST)).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void nanosecondsOfAnyTimeFit() {
        assertThat(Deadline.nanoseconds(Duration.ofSeconds(2))).isEqualTo(2_000_000_000L);
        assertThat(Deadline.nanoseconds(LONGEST)).isEqualTo(Long.MAX_VALUE);
        assertThat(Deadline.nanoseconds(SHORTEST)).isEqualTo(Long.MIN_VALUE);
    }

    @Test
    void timeoutExceptionDescribesAnyTimeout() {
        assertThat(new VerbsTimeoutException("wait", "", Duration.ofSeconds(2), ""))
                .hasMessageContaining("2000 ms");
        assertThat(new VerbsTimeoutException("wait", "", SHORTEST, "")).hasMessageContaining("Waited -");
        assertThat(new VerbsTimeoutException("wait", "", LONGEST, "")).hasMessageContaining("Waited 9");
    }

    /** {@link WireTime} compares with the longest duration of the wire first. */
    @Test
    void sourcesConvertTimeoutsOnlyHere() {
        SourceTree sources = SourceTree.below(Path.of("src/main/java"));
        assertThat(sources.texts().entrySet().stream()
                        .filter(file -> THROWS.matcher(file.getValue()).find())
                        .map(file ->
                                Path.of(file.getKey().toString()).getFileName().toString()))
                .containsExactlyInAnyOrder("Deadline.java", "WireTime.java");
        assertThat(THROWS.matcher("timeout.plus(GRACE)").find()).isTrue();
        assertThat(THROWS.matcher("limit.toNanos()").find()).isTrue();
    }
}
