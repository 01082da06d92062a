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
}
