package dev.verbena.cm;

import dev.verbena.verbs.address.AddressVector;

/**
 * The destination of datagrams for a service or a multicast group ({@code struct rdma_ud_param}).
 *
 * @param path the path to the destination, for {@link dev.verbena.verbs.ProtectionDomain#createAddressHandle(AddressVector)}
 * @param queuePairNumber the queue pair at the other end, or {@link dev.verbena.verbs.QueuePair#MULTICAST}
 * @param qkey the key that the datagrams must carry
 */
public record DatagramTarget(AddressVector path, int queuePairNumber, int qkey) {}
