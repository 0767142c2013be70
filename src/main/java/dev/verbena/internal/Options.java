package dev.verbena.internal;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * The base of all classes of options: immutable objects with a method for each option, which returns a changed copy. The
 * values stand in a row, in the order of the class's keys:
 *
 * <pre>{@code
 * private static final Keys<RateLimit> KEYS = new Keys<>();
 * static final Key<RateLimit, Long> MAX_BURST = KEYS.key("burst", 0L);
 *
 * public RateLimit maxBurst(long bytes) {
 *     return with(MAX_BURST, Checks.checkRange("burst", bytes, MAX));
 * }
 * }</pre>
 *
 * <p>The constant of a key has the name of its method: {@code MAX_BURST} is that of {@code maxBurst}. Its argument names it
 * in {@link #toString}. Equality, hash code and text come from the row. The text shows the options that differ from the
 * defaults.
 *
 * <p>A change links no lambda expression. Eight changes before a program's first completion take 4 of 520 ms of processor
 * time; with a lambda expression in each they took 20 of 533 ms (least of 25 fresh JVMs by turns on one core, 2026-11-27).
 *
 * @param <T> the class of options
 */
public abstract class Options<T extends Options<T>> implements Cloneable {
    /**
     * The keys of a class of options, in the order of the text. The class declares its keys before constants that are options.
     *
     * @param <T> the class of options
     */
    public static final class Keys<T extends Options<T>> {
        private final List<Key<T, ?>> keys = new ArrayList<>();
        private boolean hasRows;

        /** Begins without an option. */
        public Keys() {}

        /** Adds an option, whose default the text leaves out. */
        public <V extends @Nullable Object> Key<T, V> key(String name, V byDefault) {
            return add(new Key<>(keys.size(), name, byDefault, byDefault, true));
        }

        /** Adds an option that the text always has, unless its value is null. */
        public <V extends @Nullable Object> Key<T, V> always(String name, V initial) {
            return add(new Key<>(keys.size(), name, initial, null, true));
        }

        /** Adds an option whose value the text leaves out, because the value is secret or its text helps nobody. */
        public <V extends @Nullable Object> Key<T, V> hidden(String name, V byDefault) {
            return add(new Key<>(keys.size(), name, byDefault, byDefault, false));
        }

        private <V extends @Nullable Object> Key<T, V> add(Key<T, V> key) {
            if (hasRows) {
                throw new IllegalStateException("options without the key '" + key.name
                        + "' exist: declare keys before constants that are options");
            }
            keys.add(key);
            return key;
        }

        private @Nullable Object[] row() {
            hasRows = true;
            @Nullable Object[] row = new @Nullable Object[keys.size()];
            for (Key<T, ?> key : keys) {
                row[key.place] = key.initial;
            }
            return row;
        }
    }

    /**
     * One option of a class.
     *
     * @param <T> the class of options
     * @param <V> the type of the value, which never changes. Arrays are equal if their elements are
     */
    public static final class Key<T extends Options<T>, V extends @Nullable Object> {
        private final int place;
        private final String name;
        private final V initial;
        private final @Nullable Object leftOut;
        private final boolean isShown;

        private Key(int place, String name, V initial, @Nullable Object leftOut, boolean isShown) {
            this.place = place;
            this.name = name;
            this.initial = initial;
            this.leftOut = leftOut;
            this.isShown = isShown;
        }

        /** Returns the value of this option. */
        @SuppressWarnings({"unchecked", "NullAway"}) // only with() sets it
        public V of(T options) {
            return (V) ((Options<?>) options).row[place];
        }
    }

    private final Keys<T> keys;
    private @Nullable Object[] row;

    /** Makes options with the initial values of their keys. */
    protected Options(Keys<T> keys) {
        this.keys = keys;
        this.row = keys.row();
        freeze();
    }

    /**
     * Stands for the freeze of final fields: a thread that gets options without synchronisation sees their values.
     * {@code CopyOnWriteArrayList.clone} does the same.
     */
    private static void freeze() {
        VarHandle.releaseFence();
    }

    /**
     * Returns a changed copy.
     *
     * @hidden
     */
    @SuppressWarnings("unchecked") // a clone has the class of its original
    protected final <V extends @Nullable Object> T with(Key<T, V> key, V value) {
        try {
            Options<T> copy = (Options<T>) clone();
            copy.row = row.clone();
            copy.row[key.place] = value;
            freeze();
            return (T) copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public final boolean equals(@Nullable Object other) {
        return other instanceof Options<?> options
                && options.getClass() == getClass()
                && Arrays.deepEquals(options.row, row);
    }

    @Override
    public final int hashCode() {
        return Arrays.deepHashCode(row);
    }

    /** Returns the options that differ from the defaults, for example {@code depth 64, flags [SOLICITED]}. */
    @Override
    public String toString() {
        StringJoiner text = new StringJoiner(", ").setEmptyValue("defaults");
        for (Key<T, ?> key : keys.keys) {
            Object value = row[key.place];
            if (!Objects.deepEquals(value, key.leftOut)) {
                text.add(key.isShown ? key.name + " " + value : key.name);
            }
        }
        return text.toString();
    }
}
