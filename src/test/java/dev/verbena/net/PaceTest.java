package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.internal.link.Carrier;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PaceTest {
    private final Pace pace = new Pace();

    private void inTime(int pieces) {
        for (int i = 0; i < pieces; i++) {
            pace.arrived(pace.size(), false);
        }
    }

    private void late() {
        pace.arrived(pace.size(), true);
    }

    @Test
    void piecesDoubleUpToTheLargestWhileTheyComeInTime() {
        long expected = Pace.SMALLEST;
        while (expected < Pace.LARGEST) {
            assertThat(pace.size()).isEqualTo(expected);
            inTime(16);
            expected *= 2;
        }
        inTime(1000);
        assertThat(pace.size()).isEqualTo(Pace.LARGEST);
    }

    @Test
    void piecesHalveDownToTheSmallestWhenTheyAreLate() {
        inTime(1000);
        late();
        assertThat(pace.size()).isEqualTo(Pace.LARGEST / 2);
        for (int i = 0; i < 20; i++) {
            late();
        }
        assertThat(pace.size()).isEqualTo(Pace.SMALLEST);
    }

    @Test
    void piecesGrowAgainAfterMorePiecesInTime() {
        inTime(1000);
        late();
        inTime(63);
        assertThat(pace.size()).isEqualTo(Pace.LARGEST / 2);
        inTime(1);
        assertThat(pace.size()).isEqualTo(Pace.LARGEST);
        for (int i = 0; i < 100; i++) {
            late();
        }
        inTime(255);
        assertThat(pace.size()).isEqualTo(Pace.SMALLEST);
        inTime(1);
        assertThat(pace.size()).isEqualTo(2 * Pace.SMALLEST);
    }

    /** A busy time long ago does not make a channel slow for good. */
    @Test
    void piecesGrowAsAtTheBeginningAfterManyOfTheLargest() {
        inTime(1000);
        late();
        inTime(64);
        assertThat(pace.size()).isEqualTo(Pace.LARGEST);
        inTime(64);
        late();
        inTime(64);
        assertThat(pace.size()).isEqualTo(Pace.LARGEST);
    }

    /** Pieces that were under way when another was late have the old size. */
    @Test
    void piecesOfAnEarlierSizeDoNotMakeTheNextOnesLarger() {
        inTime(1000);
        late();
        long half = pace.size();
        for (int i = 0; i < 1000; i++) {
            pace.arrived(2 * half, false);
        }
        assertThat(pace.size()).isEqualTo(half);
        pace.arrived(2 * half, true);
        assertThat(pace.size()).isEqualTo(half);
    }

    @Test
    void endOfTheDataDoesNotMakePiecesLarger() {
        for (int i = 0; i < 1000; i++) {
            pace.arrived(Pace.SMALLEST - 1, false);
        }
        assertThat(pace.size()).isEqualTo(Pace.SMALLEST);
    }

    @Test
    void sizeStaysAPowerOfTwoWithinItsLimits() {
        Random random = new Random(1);
        for (int i = 0; i < 100_000; i++) {
            long bytes = random.nextBoolean() ? pace.size() : 1 + random.nextLong(Pace.LARGEST);
            pace.arrived(bytes, random.nextBoolean());
            assertThat(pace.size()).isBetween(Pace.SMALLEST, Pace.LARGEST);
            assertThat(Long.bitCount(pace.size())).isEqualTo(1);
        }
    }

    /** The attempts of an adapter end within the time between signs of life. */
    @ParameterizedTest
    @CsvSource({
        "5000, 536, 134",
        "1000, 67, 67",
        "1, 67, 67",
        "8000, 536, 134",
        "9000, 1073, 134",
        "100000, 2147, 134",
        "9223372036854775, 2147, 134"
    })
    void acknowledgementTimeoutFollowsTheTimeBetweenSignsOfLife(long alive, long hard, long soft) {
        NodeOptions options = NodeOptions.defaults().alive(Duration.ofMillis(alive));
        assertThat(Carrier.ackTimeout(options.alive(), false).toMillis()).isEqualTo(hard);
        assertThat(Carrier.ackTimeout(options.alive(), true).toMillis()).isEqualTo(soft);
    }
}
