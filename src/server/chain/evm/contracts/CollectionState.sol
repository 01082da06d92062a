// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// What the service has to know of a collection before it sends anything to it, as of one block.
struct CollectionState {
    address owner;
    bool enableApi;
    bool enableTransfer;
    bool revoked;
    bool locked;
    uint256 nextTokenId;
}
