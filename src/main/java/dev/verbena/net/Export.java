package dev.verbena.net;

import dev.verbena.VerbsArena;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.MemoryRegion;
import java.util.Set;

/**
 * Memory of a {@link Node} that peers find by a name, and read or write without the node's help. See {@link Node#export}.
 *
 * {@snippet file="ExportSnippets.java" region="export"}
 *
 * <p>On devices with memory windows of type 2, each channel that asks for the export gets a key of its own, which only that
 * channel can use and which ends with the channel. On other devices, a node with a {@linkplain NodeOptions#protection
 * protection} other than {@code NONE} registers the memory for each such channel again. All channels of other nodes use one
 * key there: {@link #hasKeysOfChannels} tells.
 *
 * <p>The program of the node may poll the memory with acquire reads of numbers of 8 bytes. A number that a peer has written by
 * {@link Channel#writeLong} appears whole, and over InfiniBand, RoCE and TCP with all that the same channel has written before;
 * on iWARP, it may appear earlier. The bytes of one write appear in any order. On each transport, {@link
 * Channel#writeAndNotify} wakes the program when all is there. The chapter <a href="{@docRoot}/net.html">Nodes, channels and
 * calls</a> has a table.
 *
 * <p>Closing an export revokes all of its keys. A peer that uses such a key afterwards loses its channel, with
 * {@link EndReason#ACCESS_DENIED}. The node closes its exports. All threads may use an export at once.
 */
public final class Export implements AutoCloseable {
    private final Exports exports;
    private final String name;
    private final MemoryRegion region;
    private final Set<AccessFlag> access;
    private final VerbsArena arena;
    private volatile boolean open = true;
    private volatile boolean clear;

    Export(Exports exports, String name, MemoryRegion region, Set<AccessFlag> access, VerbsArena arena) {
        this.exports = exports;
        this.name = name;
        this.region = region;
        this.access = access;
        this.arena = arena;
    }

    /**
     * Returns the name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Returns what peers may do.
     *
     * @return the rights
     */
    public Set<AccessFlag> access() {
        return access;
    }

    /**
     * Returns true if each channel gets a key of its own.
     *
     * @return true if the node's device has memory windows of type 2, if the node has a secret, and if the node has no device.
     *     Channels over TCP always have keys of their own
     */
    public boolean hasKeysOfChannels() {
        return exports.carrier.hasKeysOfChannels();
    }

    /**
     * Lets peers of {@linkplain Protection#SEALED sealed} channels use this export too. Reads, writes and atomics move memory
     * as it is: who can see the packets of the network reads what the peers read and write, and may change it on its way.
     * The name and the key travel sealed. Without this call, a peer of a sealed channel does not find this export.
     *
     * @return this export
     * @throws IllegalStateException if this export is closed
     */
    public Export inTheClear() {
        if (!open) {
            throw new IllegalStateException(this + " shows nothing any more");
        }
        clear = true;
        return this;
    }

    /**
     * Returns true if peers of sealed channels can use this export.
     *
     * @return true after {@link #inTheClear}
     */
    public boolean isInTheClear() {
        return clear;
    }

    /**
     * Returns true until this export is closed.
     *
     * @return true if peers can find and use the memory
     */
    public boolean isOpen() {
        return open;
    }

    /** Returns the arena of the windows. */
    VerbsArena arena() {
        return arena;
    }

    MemoryRegion region() {
        return region;
    }

    /** Notes the end: nobody finds it any more. */
    void end() {
        open = false;
    }

    /**
     * Revokes this export: no peer can use the memory when this method returns. The memory is deregistered. Closing an
     * export twice does nothing.
     *
     * @throws dev.verbena.VerbsException if C refused to revoke a key. Closing can be repeated
     */
    @Override
    public void close() {
        exports.close(this);
    }

    /** Returns for example {@code export 'table' [REMOTE_READ]}. */
    @Override
    public String toString() {
        return "export '" + name + "' " + access + (open ? "" : " (closed)");
    }
}
