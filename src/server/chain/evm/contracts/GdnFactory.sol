// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {CollectionInit} from "./CollectionInit.sol";
import {GdnCollection} from "./GdnCollection.sol";
import {IOperatorRegistry} from "./IOperatorRegistry.sol";

/// Deploys collections and registers the service's operators for all of them. One contract does both, so that a
/// collection can query its deployer and needs no storage for a registry.
///
/// The admin is a cold key. It appoints operators and can't be one, so it can't deploy, mint or transfer.
contract GdnFactory is IOperatorRegistry {
    /// Version of the factory and of the collections that it deploys.
    uint256 public constant version = 2;

    /// The implementation that every collection clones. It is the first contract created here, so its address is fixed.
    address public immutable implementation;

    address public admin;
    address public pendingAdmin;
    mapping(address account => bool) public override isOperator;

    event CollectionMade(bytes32 indexed requestId, address indexed collection, address indexed owner);
    event OperatorChanged(address indexed account, bool enabled);
    event AdminOffered(address indexed account);
    event AdminChanged(address indexed previous, address indexed account);

    error NotAdmin(address account);
    error NotOperator(address account);
    error InvalidOperator(address account);
    error AlreadyMade(address collection);

    modifier onlyAdmin() {
        _requireAdmin();
        _;
    }

    /// @param operators The initial operators. The deployer becomes the admin.
    constructor(address[] memory operators) {
        admin = msg.sender;
        emit AdminChanged(address(0), msg.sender);
        implementation = address(new GdnCollection());
        for (uint256 i; i < operators.length; ++i) _setOperator(operators[i], true);
    }

    /// Deploys a collection at the address that its request ID and all init arguments determine. Nobody can alter an
    /// argument or take the address, and the same request can't deploy a second one.
    function make(bytes32 requestId, CollectionInit calldata init) external returns (address collection) {
        if (!isOperator[msg.sender]) revert NotOperator(msg.sender);
        bytes32 salt = _salt(requestId, init);
        // CREATE2 to an address that is taken would burn all gas.
        collection = Clones.predictDeterministicAddress(implementation, salt);
        if (collection.code.length != 0) revert AlreadyMade(collection);
        Clones.cloneDeterministic(implementation, salt);
        GdnCollection(collection).initialize(init);
        emit CollectionMade(requestId, collection, init.owner);
    }

    /// Returns the address of a collection, deployed or not.
    function collectionOf(bytes32 requestId, CollectionInit calldata init) external view returns (address) {
        return Clones.predictDeterministicAddress(implementation, _salt(requestId, init));
    }

    function _salt(bytes32 requestId, CollectionInit calldata init) private pure returns (bytes32) {
        return keccak256(abi.encode(requestId, init));
    }

    function setOperator(address account, bool enabled) external onlyAdmin {
        _setOperator(account, enabled);
    }

    /// Offers the admin's rights to another key, which has to accept, so that a mistyped address changes nothing.
    function offerAdmin(address account) external onlyAdmin {
        pendingAdmin = account;
        emit AdminOffered(account);
    }

    function acceptAdmin() external {
        if (msg.sender != pendingAdmin) revert NotAdmin(msg.sender);
        if (isOperator[msg.sender]) revert InvalidOperator(msg.sender);
        emit AdminChanged(admin, msg.sender);
        admin = msg.sender;
        pendingAdmin = address(0);
    }

    function _requireAdmin() private view {
        if (msg.sender != admin) revert NotAdmin(msg.sender);
    }

    function _setOperator(address account, bool enabled) private {
        if (account == address(0) || (enabled && account == admin)) revert InvalidOperator(account);
        isOperator[account] = enabled;
        emit OperatorChanged(account, enabled);
    }
}
