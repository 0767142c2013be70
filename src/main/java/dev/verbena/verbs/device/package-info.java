/**
 * Values that describe a device and its ports.
 *
 * <table class="plain">
 *   <caption>Types to start with</caption>
 *   <tr><th>type</th><th>use</th></tr>
 *   <tr><td>{@link Port}</td><td>the state, speed and MTU of a port</td></tr>
 *   <tr><td>{@link PortCounters}</td><td>the counters of a port: packets, retries, errors</td></tr>
 *   <tr><td>{@link Mtu}</td><td>the largest payload of one packet</td></tr>
 *   <tr><td>{@link DeviceAttributes}</td><td>the limits of a device</td></tr>
 *   <tr><td>{@link DeviceCapability}</td><td>a feature that a device may have</td></tr>
 *   <tr><td>{@link QueuePairType}</td><td>the transport of a queue pair</td></tr>
 * </table>
 *
 * <p>Rare: {@link OnDemandPaging} and {@link ReceiveSideScaling} (limits of these features), {@link Guid}. The limits of
 * other rare features are records in {@link DeviceAttributes}.
 */
package dev.verbena.verbs.device;
