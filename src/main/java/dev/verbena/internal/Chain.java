package dev.verbena.internal;

import org.jspecify.annotations.Nullable;

/**
 * A list, the oldest element first, whose elements have its links: a change allocates nothing. The caller locks.
 *
 * <p>A change calls before it writes. So a thread whose stack ends in a change has made all of it, or nothing.
 *
 * @param <E> the type of the elements, each of which is in one chain at most
 */
public final class Chain<E extends Chain.Link<E>> {
    private @Nullable E oldest;
    private @Nullable E youngest;

    /**
     * An element of a chain.
     *
     * @param <E> the type of the element
     */
    public abstract static class Link<E extends Link<E>> {
        private @Nullable E older;
        private @Nullable E younger;
        private boolean isLinked;

        /** Returns the next younger element; null for the youngest, and for one that is in no chain. */
        public final @Nullable E younger() {
            return younger;
        }
    }

    /** Returns the oldest element; null if there is none. */
    public @Nullable E oldest() {
        return oldest;
    }

    /** Adds an element as the youngest, unless it is in the chain. */
    public void add(E element) {
        Link<E> link = element;
        if (!link.isLinked) {
            join(youngest, element);
            youngest = element;
            link.isLinked = true;
        }
    }

    /** Removes an element, if it is in the chain. */
    public void remove(E element) {
        Link<E> link = element;
        if (link.isLinked) {
            join(link.older, link.younger);
            if (youngest == element) {
                youngest = link.older;
            }
            link.older = null;
            link.younger = null;
            link.isLinked = false;
        }
    }

    /** Makes two elements neighbours; null stands for the end of the chain. */
    private void join(@Nullable E before, @Nullable E after) {
        if (before == null) {
            oldest = after;
        } else {
            ((Link<E>) before).younger = after;
        }
        if (after != null) {
            ((Link<E>) after).older = before;
        }
    }

    /** Removes the oldest element and returns it; returns null if there is none. */
    public @Nullable E poll() {
        E first = oldest;
        if (first != null) {
            remove(first);
        }
        return first;
    }
}
