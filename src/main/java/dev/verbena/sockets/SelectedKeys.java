package dev.verbena.sockets;

import java.nio.channels.SelectionKey;
import java.util.AbstractSet;
import java.util.Iterator;
import java.util.Set;

/** A view of a selector's selected keys. Users may remove keys, but not add them. */
final class SelectedKeys extends AbstractSet<SelectionKey> {
    private final Set<SelectionKey> keys;

    SelectedKeys(Set<SelectionKey> keys) {
        this.keys = keys;
    }

    @Override
    public int size() {
        return keys.size();
    }

    @Override
    public boolean contains(Object key) {
        return keys.contains(key);
    }

    @Override
    public Iterator<SelectionKey> iterator() {
        return keys.iterator();
    }

    @Override
    public boolean remove(Object key) {
        return keys.remove(key);
    }
}
