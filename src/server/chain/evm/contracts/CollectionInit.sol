// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// The init arguments of a collection. All of them are part of the salt of its address.
struct CollectionInit {
    string name;
    string symbol;
    address owner;
    bool enableApi;
    bool enableTransfer;
    bool locked;
    /// The metadata of every token may be updated.
    bool dynamic;
    /// The service's operators may burn tokens.
    bool enableBurn;
    address royaltyReceiver;
    /// Royalty in parts of 10,000 of the sale price; 0 for none.
    uint96 royaltyBps;
    /// How many tokens can ever be minted; 0 for any number.
    uint64 maxSupply;
}
