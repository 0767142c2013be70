/**
 * Verbs: devices, protection domains, memory regions, completion queues, queue pairs and work requests.
 *
 * <p>The Javadoc of each class and method names its C function or struct. A program begins with a {@link Device}.
 *
 * <table class="plain">
 *   <caption>Twelve types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link Device}</td><td>an adapter: list the adapters, and open one</td></tr>
 *   <tr><td>{@link Context}</td><td>an open adapter, which makes all other objects</td></tr>
 *   <tr><td>{@link ProtectionDomain}</td><td>the owner of memory and queue pairs that may be used together</td></tr>
 *   <tr><td>{@link MemoryRegion}</td><td>registered memory, which the adapter reads and writes</td></tr>
 *   <tr><td>{@link AccessFlag}</td><td>what the adapter and peers may do with a memory region</td></tr>
 *   <tr><td>{@link RemoteMemory}</td><td>memory of the peer: a value that travels in 16 bytes</td></tr>
 *   <tr><td>{@link CompletionQueue}</td><td>the queue that reports finished work requests</td></tr>
 *   <tr><td>{@link WorkCompletion}</td><td>one finished work request, with its status</td></tr>
 *   <tr><td>{@link QueuePair}</td><td>a connection, or a port for datagrams: posts sends, receives, reads and writes</td></tr>
 *   <tr><td>{@link QueuePairOptions}</td><td>the sizes and queues of a new queue pair</td></tr>
 *   <tr><td>{@link SendBatch}</td><td>many requests in one call, without garbage</td></tr>
 *   <tr><td>{@link Completions}</td><td>many completions in one call, without garbage</td></tr>
 * </table>
 *
 * <h2>The other types, by use</h2>
 *
 * <ul>
 *   <li>Memory: {@link LocalMemory} (a region or a part of one), {@link RegionOptions} and {@link RegionChange}
 *       (registering in other ways, and again). {@link BufferPool} lends pieces of one registration, and
 *       {@link RegistrationCache} keeps the registrations of memory that comes from elsewhere: registering takes
 *       microseconds to milliseconds, because the kernel pins each page.
 *   <li>Posting: {@link ReceiveBatch}, {@link Operation} (what a request does), {@link UnsignaledPosts},
 *       {@link SendSlots} (counts free slots), {@link PostException}.
 *   <li>Completing: {@link WorkStatus}, {@link WorkCompletionException}, {@link CompletionQueueOptions},
 *       {@link CompletionChannel} (waits for many queues).
 *   <li>Queue pairs: {@link QueuePairState}, {@link QueuePairAttributes} and {@link Attribute} (changes of state by hand),
 *       {@link QueueCapabilities} (sizes), {@link SharedReceiveQueue}, {@link SharedReceiveQueueOptions}.
 *   <li>Datagrams: {@link AddressHandle}.
 *   <li>What happens to a device: {@link AsyncEvents}, {@link AsyncEvent}.
 * </ul>
 *
 * <h2>Rare types</h2>
 *
 * <p>Most programs never need these types, and few devices have all of them:
 *
 * <ul>
 *   <li>Memory: {@link MemoryWindow} (keys that change without registering), {@link DeviceMemory}, {@link DriverBuffer},
 *       {@link AddressSpace}, {@link DmaHandle}, {@link DmaHints}, {@link ForkStatus}.
 *   <li>Completing: {@link ExtendedCompletions} and {@link CompletionField} (more fields, such as times),
 *       {@link CompletionCounter}.
 *   <li>Queue pairs: {@link XrcDomain}, {@link ParentDomainOptions}, {@link ThreadDomain}, {@link RateLimit}, {@link Ece},
 *       {@link TagMatching}.
 *   <li>Raw packets: {@link WorkQueue}, {@link WorkQueueOptions}, {@link IndirectionTable}, {@link ReceiveHash},
 *       {@link Flow}, {@link Counters}.
 * </ul>
 *
 * <p>{@link dev.verbena.verbs.device} has the values that describe devices and ports, {@link dev.verbena.verbs.address} the
 * values that address a peer, and {@link dev.verbena.verbs.flow} the rules that steer packets.
 */
package dev.verbena.verbs;
