package dev.verbena.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ChainTest {
    private static final class Element extends Chain.Link<Element> {}

    private final Chain<Element> chain = new Chain<>();

    private List<Element> elements() {
        List<Element> elements = new ArrayList<>();
        for (Element element = chain.oldest(); element != null; element = element.younger()) {
            elements.add(element);
        }
        return elements;
    }

    private List<Element> add(int count) {
        List<Element> added = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            added.add(new Element());
            chain.add(added.getLast());
        }
        return added;
    }

    @Test
    void elementsKeepTheirOrder() {
        assertThat(chain.oldest()).isNull();
        assertThat(chain.poll()).isNull();
        List<Element> added = add(4);
        chain.add(added.getFirst()); // is there already, and stays the oldest
        assertThat(elements()).isEqualTo(added);
    }

    @Test
    void removedElementLeavesTheOthersInOrder() {
        for (int place = 0; place < 4; place++) {
            List<Element> expected = add(4);
            Element removed = expected.remove(place);
            chain.remove(removed);
            chain.remove(removed);
            assertThat(elements()).isEqualTo(expected);
            assertThat(removed.younger()).isNull();
            chain.add(removed);
            expected.add(removed);
            for (Element element : expected) {
                assertThat(chain.poll()).isSameAs(element);
            }
            assertThat(chain.oldest()).isNull();
        }
    }

    @Test
    void chainIsTheSameAsAList() {
        Random random = new Random(4711);
        List<Element> all = List.of(new Element(), new Element(), new Element(), new Element(), new Element());
        List<Element> expected = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            Element element = all.get(random.nextInt(all.size()));
            switch (random.nextInt(3)) {
                case 0 -> {
                    chain.add(element);
                    if (!expected.contains(element)) {
                        expected.add(element);
                    }
                }
                case 1 -> {
                    chain.remove(element);
                    expected.remove(element);
                }
                default -> assertThat(chain.poll()).isSameAs(expected.isEmpty() ? null : expected.removeFirst());
            }
            assertThat(elements()).as("after change %d", i).isEqualTo(expected);
        }
    }
}
