package dev.verbena.mutate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import org.junit.jupiter.api.Test;

/** The tests of {@link Planted}, which {@link MutateTest} lets run on its mutants. */
class PlantedTest {
    @Test
    void clampKeepsTheBounds() {
        Planted planted = new Planted(3, 100);
        assertThat(planted.clamp(2)).isEqualTo(3);
        assertThat(planted.clamp(4)).isEqualTo(4);
        assertThat(planted.clamp(101)).isEqualTo(100);
    }

    @Test
    void putWritesKeyAndValue() {
        Planted planted = new Planted(3, 100);
        planted.put("key", "value");
        assertThat(planted.log()).containsExactly("key=value");
    }

    @Test
    void putRefusesEmptyKey() {
        assertThatThrownBy(() -> new Planted(3, 100).put("", "value")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void scaledMultipliesByTheConstant() {
        assertThat(Planted.scaled(7)).isEqualTo(42);
    }

    @Test
    void keptIsSeven() {
        assertThat(new Planted.Kept()).isNotNull();
        assertThat(Planted.Kept.FIRST.number()).isEqualTo(7);
    }

    @Test
    void putAndSucceedReturnsTrue() {
        Planted planted = new Planted(3, 100);
        assertThat(planted.putAndSucceed("key")).isTrue();
        assertThat(planted.log()).containsExactly("key=", "done");
    }

    @Test
    void largestIsOneOfBoth() {
        assertThat(Planted.largest(3, 5)).isEqualTo(5);
    }

    @Test
    void halfDivides() {
        assertThat(Planted.half(84)).isEqualTo(42);
    }

    @Test
    void memoryHasRoomForANumber() {
        assertThat(Planted.memory(Arena.global()).byteSize()).isEqualTo(8);
    }

    @Test
    void countDownEnds() {
        assertThat(Planted.countDown(3)).isEqualTo(3);
    }

    @Test
    void chosenIsTheFirst() {
        assertThat(Planted.chosen(true)).isEqualTo("first");
    }

    @Test
    void haltIfReturns() {
        Planted.haltIf(false);
    }

    @Test
    void fuseDoesNotBlow() {
        assertThat(Planted.Fuse.blown).isFalse();
        assertThatThrownBy(() -> Planted.Fuse.blow(false)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void unseenRuns() {
        new Planted(3, 100).unseen(1);
    }
}
