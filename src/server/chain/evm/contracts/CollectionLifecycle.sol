// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// What can happen to the tokens of a collection after they are minted, as of one block.
struct CollectionLifecycle {
    /// Version of the collection's contract.
    uint256 version;
    bool dynamic;
    bool enableBurn;
    bool frozen;
    uint24 updateCount;
    address pendingOwner;
}

/// The state of a token's metadata.
struct MetadataState {
    /// Sequence of the token's last update; 0 if it was never updated.
    uint24 revision;
    bool dynamic;
    bool frozen;
}
