/** Values that name a peer or the way to it: GIDs, routes, address vectors, endpoints and rates. */
package dev.verbena.verbs.address;
