package dev.verbena.cm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.cm.IdEvents.Life;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The states of an id in C: see {@link IdEvents}. */
class IdLifeTest {
    @ParameterizedTest
    @CsvSource({
        "OPEN,      CLOSE,     CLOSING",
        "OPEN,      REFUSED,   OPEN",
        "OPEN,      DESTROYED, DESTROYED", // a request that was dropped
        "CLOSING,   CLOSE,     CLOSING",
        "CLOSING,   REFUSED,   OPEN",
        "CLOSING,   DESTROYED, DESTROYED",
        "DESTROYED, CLOSE,     DESTROYED",
        "DESTROYED, REFUSED,   DESTROYED",
        "DESTROYED, DESTROYED, DESTROYED"
    })
    void eventsLeadFromStateToState(Life before, Life.Event event, Life after) {
        assertThat(before.after(event)).isEqualTo(after);
    }
}
