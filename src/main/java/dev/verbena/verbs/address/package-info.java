/** Values that address a peer: GIDs, routes, address vectors, endpoints and rates. */
package dev.verbena.verbs.address;
