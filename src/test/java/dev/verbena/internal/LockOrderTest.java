package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.LibraryCopy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** The mode for tests in which locks note their order. */
class LockOrderTest {
    /** Takes locks in orders that contradict each other, and in others that do not. */
    static final class Orders implements Callable<String> {
        private final Mutex one = named(1);
        private final Mutex two = named("");
        private final Mutex three = named('x');
        private final List<String> results = new ArrayList<>();

        private static Mutex named(Object guarded) {
            Mutex made = new Mutex();
            made.guards(guarded);
            return made;
        }

        private void take(Mutex... locks) {
            int taken = 0;
            try {
                for (Mutex lock : locks) {
                    lock.lock();
                    taken++;
                }
                results.add("fine");
            } catch (AssertionError reversed) {
                results.add(String.valueOf(reversed.getMessage()).replaceAll(" [0-9a-f]+(?= |$)", ""));
            }
            for (int i = 0; i < taken; i++) {
                locks[i].unlock();
            }
        }

        @Override
        public String call() {
            take(one, two);
            take(two, three);
            take(three, one); // by way of the other
            take(one, one, three);
            Mutex alike = named(1);
            take(one, alike);
            take(alike, one);
            two.lock();
            if (one.tryLock()) { // never waits
                one.unlock();
            }
            two.unlock();
            return String.join(", ", results);
        }
    }

    @Test
    void orderThatContradictsAnEarlierOneIsFound() {
        assertThat(LibraryCopy.call(Orders.class, Map.of("dev.verbena.lockOrder", "true")))
                .isEqualTo("fine, fine, lock of Integer is taken after that of Character, fine, fine,"
                        + " lock of Integer is taken after that of Integer");
    }
}
