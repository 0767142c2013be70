package dev.verbena.internal.lifetime;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The objects that an arena owns, or that depend on a lifetime. A change is a few writes to fields: a thread whose stack ends
 * makes it whole or not at all, which the JDK's collections do not promise. All threads may use an instance at once.
 */
final class Members {
    /** The place of an object among the members. */
    static final class Place {
        final Members of;
        final ObjectLifetime object;
        private @Nullable Place older;
        private @Nullable Place younger;
        private boolean taken;

        Place(Members of, ObjectLifetime object) {
            this.of = of;
            this.object = object;
        }
    }

    private @Nullable Place oldest;
    private @Nullable Place youngest;
    private int size;

    /** Adds the object of a place as the youngest, unless it is a member. */
    synchronized void add(Place place) {
        if (place.taken) {
            return;
        }
        Place before = youngest;
        place.older = before;
        if (before == null) {
            oldest = place;
        } else {
            before.younger = place;
        }
        youngest = place;
        place.taken = true;
        size++;
    }

    /** Removes the object of a place, if it is a member. */
    synchronized void remove(Place place) {
        if (!place.taken) {
            return;
        }
        Place before = place.older;
        Place after = place.younger;
        if (before == null) {
            oldest = after;
        } else {
            before.younger = after;
        }
        if (after == null) {
            youngest = before;
        } else {
            after.older = before;
        }
        place.older = null;
        place.younger = null;
        place.taken = false;
        size--;
    }

    /** Returns the members, the oldest first. */
    synchronized List<ObjectLifetime> oldestFirst() {
        List<ObjectLifetime> all = new ArrayList<>(size);
        for (Place place = oldest; place != null; place = place.younger) {
            all.add(place.object);
        }
        return all;
    }
}
