package dev.verbena.ledger;

import org.jspecify.annotations.Nullable;

/**
 * The addresses of C functions, each with the counter of its name. An address becomes known when the library looks it up
 * or reads it from a struct.
 *
 * <p>A hash table of {@code long}s: finding a counter allocates nothing and takes no lock.
 */
final class FunctionAddresses {
    private static final int FIRST_SIZE = 256;
    private static volatile Table table = new Table(new long[FIRST_SIZE], new Calls[FIRST_SIZE], 0);

    /** Open addressing; an address of 0 is a free place. Never changed once it is published, but in free places. */
    private record Table(long[] addresses, Calls[] counters, int used) {
        int place(long address) {
            int place = (int) (address * 0x9E3779B97F4A7C15L >>> 40) & addresses.length - 1;
            while (addresses[place] != 0 && addresses[place] != address) {
                place = place + 1 & addresses.length - 1;
            }
            return place;
        }

        Table with(long address, Calls counter) {
            int size = used * 2 < addresses.length ? addresses.length : addresses.length * 2;
            Table larger = new Table(new long[size], new Calls[size], used + 1);
            for (int i = 0; i < addresses.length; i++) {
                if (addresses[i] != 0) {
                    larger.put(addresses[i], counters[i]);
                }
            }
            larger.put(address, counter);
            return larger;
        }

        private void put(long address, Calls counter) {
            int place = place(address);
            addresses[place] = address;
            counters[place] = counter;
        }
    }

    private FunctionAddresses() {}

    /**
     * Makes an address known.
     *
     * @throws AssertionError if it is known by another name: its calls could not be told apart
     */
    static void add(long address, String function) {
        if (address == 0) {
            return;
        }
        Calls known = find(address);
        if (known == null) {
            synchronized (FunctionAddresses.class) {
                known = find(address);
                if (known == null) {
                    table = table.with(address, Calls.of(function));
                    return;
                }
            }
        }
        if (!known.function().equals(function)) {
            throw new AssertionError("One address is " + known.function() + " and " + function);
        }
    }

    /** Returns the counter of the function at an address, or null if the address is not known. */
    static @Nullable Calls find(long address) {
        Table now = table;
        return now.counters[now.place(address)];
    }
}
