// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// What a collection is made with. All of it goes into the salt of its address.
struct CollectionInit {
    string name;
    string symbol;
    address owner;
    bool enableApi;
    bool enableTransfer;
    bool locked;
}
