package dev.verbena.cm;

import dev.verbena.verbs.address.AddressVector;

/**
 * Where datagrams for a service or a multicast group go ({@code struct rdma_ud_param}).
 *
 * @param path the way there: for {@link dev.verbena.verbs.ProtectionDomain#createAddressHandle(AddressVector)}
 * @param queuePairNumber the queue pair at the other end, or {@link dev.verbena.verbs.QueuePair#MULTICAST}
 * @param qkey the key that they must carry
 */
public record DatagramTarget(AddressVector path, int queuePairNumber, int qkey) {}
