package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.ContextVerb;
import dev.verbena.internal.Errno;
import dev.verbena.internal.Ibv;
import dev.verbena.internal.LockedMemory;
import dev.verbena.internal.failures.Calls;
import dev.verbena.internal.raw.ibv_mr_init_attr;
import dev.verbena.internal.raw.rdma_h;
import java.lang.foreign.MemorySegment;
import java.util.Collection;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The memory that {@link RegionOptions} name: each kind is registered by a function of its own. */
sealed interface RegionSource {
    /** Checks rights, which C does not check or answers with a bare number. */
    default Set<AccessFlag> check(Collection<AccessFlag> access) {
        return Registration.check(access);
    }

    /**
     * Checks that a domain can register this memory with these options.
     *
     * @return the object that the memory belongs to; null if the memory belongs to no object
     */
    default @Nullable VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
        return null;
    }

    /**
     * Returns this memory as regions see it.
     *
     * @param address the address of the first byte; empty for this memory's own address
     */
    RegionBacking backing(OptionalLong address);

    /** Returns true if the oldest function for this memory knows no other address of the first byte. */
    default boolean keepsAddress() {
        return false;
    }

    /** Registers this memory by the oldest function that can, and returns the {@code struct ibv_mr}. */
    long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags);

    /** Writes the fields of a {@code struct ibv_mr_init_attr} that describe this memory. C has no such fields for device memory. */
    default void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
        attributes
                .pointer(ibv_mr_init_attr.addr$offset(), backing.segment().address())
                .has(rdma_h.IBV_REG_MR_MASK_ADDR);
    }

    /**
     * A segment.
     *
     * @param foreign true if the caller makes sure that the memory outlives the region
     * @param owner frees the memory, and is closed with the region; null if the caller frees it
     */
    record Segment(
            MemorySegment memory, boolean foreign, @Nullable AutoCloseable owner) implements RegionSource {
        @Override
        public Set<AccessFlag> check(Collection<AccessFlag> access) {
            return Registration.check(memory, access);
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.of(memory, foreign, address.orElse(memory.address()));
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Registration.register(domain, memory, backing.address(), flags);
        }

        @Override
        public String toString() {
            return RegionBacking.of(memory, foreign, memory.address()).toString();
        }
    }

    /** A part of a driver's buffer. */
    record Buffer(DriverBuffer buffer, long offset, long length) implements RegionSource {
        @Override
        public VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
            buffer.checkDomain(domain);
            return buffer;
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            RegionBacking own = buffer.backing(offset, length);
            return address.isEmpty() ? own : RegionBacking.of(own.segment(), true, address.getAsLong());
        }

        @Override
        public boolean keepsAddress() {
            return true;
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    Ibv.REG_BUF_MR,
                    this + ", " + flags,
                    errno -> errno == Errno.ENOMEM ? LockedMemory.hint() : "",
                    domain.address(),
                    buffer.address(),
                    backing.address(),
                    length,
                    AccessFlag.bits(flags));
        }

        @Override
        public void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
            RegionSource.super.write(init, attributes, backing);
            attributes.pointer(ibv_mr_init_attr.buf$offset(), buffer.address()).has(rdma_h.IBV_REG_MR_MASK_BUF);
        }

        @Override
        public String toString() {
            return buffer + ", offset " + offset + ", " + length + " bytes";
        }
    }

    /** A part of device memory, whose first byte has the address 0. */
    record Device(DeviceMemory memory, long offset, long length) implements RegionSource {
        @Override
        public VerbsObject checkIn(ProtectionDomain domain, RegionOptions options) {
            if (RegionOptions.HINTS.of(options) != null || options.address().isPresent()) {
                throw new IllegalArgumentException(
                        "device memory begins at the address 0 and takes no hints, got " + options);
            }
            memory.checkRange(offset, length);
            memory.checkIn(domain.contextEvenIfClosed(), QueuePairCreation.DOMAIN);
            return memory;
        }

        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.elsewhere("device memory", 0, length);
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    domain.contextEvenIfClosed().function(ContextVerb.REG_DM_MR),
                    this + ", " + flags,
                    domain.address(),
                    memory.address(),
                    offset,
                    length,
                    AccessFlag.bits(flags) | AccessFlag.ZERO_BASED.bit); // C knows device memory only with this flag
        }

        @Override
        public String toString() {
            return memory + ", offset " + offset + ", " + length + " bytes";
        }
    }

    /** A part of another driver's DMA buffer. */
    record DmaBuf(int descriptor, long offset, long length) implements RegionSource {
        @Override
        public RegionBacking backing(OptionalLong address) {
            return RegionBacking.elsewhere("DMA buffer " + descriptor, address.orElse(offset), length);
        }

        @Override
        public long register(ProtectionDomain domain, RegionBacking backing, Set<AccessFlag> flags) {
            return Calls.pointer(
                    Ibv.REG_DMABUF_MR,
                    backing + ", offset " + offset + ", " + flags,
                    errno -> errno == Errno.EBADF ? "The file descriptor is not open" : "",
                    domain.address(),
                    offset,
                    length,
                    backing.address(),
                    descriptor,
                    AccessFlag.bits(flags));
        }

        @Override
        public void write(MemorySegment init, InitAttributes attributes, RegionBacking backing) {
            ibv_mr_init_attr.fd(init, descriptor);
            ibv_mr_init_attr.fd_offset(init, offset);
            attributes.has(rdma_h.IBV_REG_MR_MASK_FD | rdma_h.IBV_REG_MR_MASK_FD_OFFSET);
        }

        @Override
        public String toString() {
            return "DMA buffer " + descriptor + ", offset " + offset + ", " + length + " bytes";
        }
    }
}
