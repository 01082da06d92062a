// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// The state of a collection that the service reads before it sends a transaction, as of one block.
struct CollectionState {
    address owner;
    bool enableApi;
    bool enableTransfer;
    bool revoked;
    bool locked;
    uint256 nextTokenId;
    /// How many tokens can ever be minted; 0 for any number.
    uint256 maxSupply;
}
