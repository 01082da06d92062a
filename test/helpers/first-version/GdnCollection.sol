// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC721AStorage} from "erc721a-upgradeable/contracts/ERC721AStorage.sol";
import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {CollectionInit} from "./CollectionInit.sol";
import {CollectionState} from "./CollectionState.sol";
import {IERC5192} from "./IERC5192.sol";
import {IOperatorRegistry} from "./IOperatorRegistry.sol";
import {MetadataText} from "./MetadataText.sol";

/// A collection of NFTs: one clone of this contract for each. Its owner is the customer's wallet; the service's
/// operators mint while `enableApi` is on and move tokens while `enableTransfer` is on.
///
/// Tokens are minted in batches. The metadata files of a batch form one IPFS directory. Its 32-byte digest is stored at
/// the batch's first token ID, and is the only storage that a batch uses, regardless of its size.
contract GdnCollection is ERC721AUpgradeable, ERC2981, IERC5192 {
    /// Maximum number of tokens in a batch. It bounds the walk from a token to the head of its batch.
    uint256 public constant MAX_BATCH = 200;

    /// ERC721A writes one owner for a run of tokens, and the transfer of the last one pays for reading back to the
    /// first. Runs are split here: with a run of 200, that transfer would cost 532k gas.
    uint256 private constant MAX_RUN = 10;

    /// The factory that deployed the implementation. It is stored in the code because every mint reads it.
    IOperatorRegistry public immutable registry;

    // One storage slot, read once by every mint.
    address private _owner;
    bool public enableApi;
    bool public enableTransfer;
    bool public isRevoked;
    bool public isLocked;

    mapping(uint256 batchHead => bytes32 digest) private _digests;
    string private _contractURI;

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event EnableApiChanged(bool enabled);
    event EnableTransferChanged(bool enabled);
    event ServiceRevoked();
    event ContractURIUpdated();

    error NotRegistry();
    error AlreadyInitialized();
    error NotOperator(address account);
    error ApiDisabled();
    error TransferDisabled();
    error ServiceIsRevoked();
    error StaleStartId(uint256 given, uint256 next);
    error EmptyDigest();
    error EmptyBatch();
    error LengthMismatch();
    error BatchTooLarge();
    error TokenLocked();
    error InvalidOperator();
    error ValueNotAccepted();
    error OwnableUnauthorizedAccount(address account);
    error OwnableInvalidOwner(address owner);

    modifier onlyOwner() {
        if (msg.sender != _owner) revert OwnableUnauthorizedAccount(msg.sender);
        _;
    }

    /// Locks the implementation: only clones can be initialized.
    constructor() {
        registry = IOperatorRegistry(msg.sender);
        ERC721AStorage.layout()._currentIndex = _startTokenId();
    }

    /// Called by the factory in the transaction that creates the clone.
    ///
    /// ERC721A's own initializer would spend a slot (22k gas) on a flag. The next token ID serves as one: it is 0 only
    /// in a fresh clone.
    function initialize(CollectionInit calldata init) external {
        if (msg.sender != address(registry)) revert NotRegistry();
        if (_nextTokenId() != 0) revert AlreadyInitialized();
        if (init.owner == address(0)) revert OwnableInvalidOwner(address(0));
        ERC721AStorage.Layout storage base = ERC721AStorage.layout();
        base._name = init.name;
        base._symbol = init.symbol;
        base._currentIndex = _startTokenId();
        enableApi = init.enableApi;
        enableTransfer = init.enableTransfer;
        isLocked = init.locked;
        _setOwner(init.owner);
    }

    // Minting

    /// Mints `counts[i]` tokens to `receivers[i]`, with IDs from `startId` on.
    ///
    /// @param startId The ID that must be next, so that a second execution of the same call reverts.
    /// @param digest sha2-256 of the IPFS directory with `0.json`, `1.json`, … of this batch.
    function mint(uint256 startId, address[] calldata receivers, uint256[] calldata counts, bytes32 digest) external {
        _openBatch(startId, receivers.length, digest);
        if (receivers.length != counts.length) revert LengthMismatch();
        uint256 total;
        for (uint256 i; i < receivers.length; ++i) {
            uint256 count = counts[i];
            if (count > MAX_BATCH - total) revert BatchTooLarge();
            total += count;
            for (; count > MAX_RUN; count -= MAX_RUN) _mint(receivers[i], MAX_RUN);
            _mint(receivers[i], count);
        }
        if (isLocked) {
            for (uint256 id = startId; id < startId + total; ++id) emit Locked(id);
        }
    }

    /// Mints a token to `sender` for each receiver and transfers it: two Transfer events per token, in order.
    function grant(uint256 startId, address sender, address[] calldata receivers, bytes32 digest) external {
        _openBatch(startId, receivers.length, digest);
        if (isLocked) revert TokenLocked();
        if (!enableTransfer) revert TransferDisabled();
        _mint(sender, receivers.length);
        for (uint256 i; i < receivers.length; ++i) transferFrom(sender, receivers[i], startId + i);
    }

    /// Rights are checked before the start ID, so that a caller without rights doesn't get an error that suggests a
    /// retry.
    function _openBatch(uint256 startId, uint256 receivers, bytes32 digest) private {
        if (isRevoked) revert ServiceIsRevoked();
        if (!enableApi) revert ApiDisabled();
        if (!registry.isOperator(msg.sender)) revert NotOperator(msg.sender);
        if (startId != _nextTokenId()) revert StaleStartId(startId, _nextTokenId());
        if (receivers == 0) revert EmptyBatch();
        if (receivers > MAX_BATCH) revert BatchTooLarge();
        if (digest == 0) revert EmptyDigest();
        _digests[startId] = digest;
    }

    function nextTokenId() external view returns (uint256) {
        return _nextTokenId();
    }

    function state() external view returns (CollectionState memory) {
        return CollectionState(_owner, enableApi, enableTransfer, isRevoked, isLocked, _nextTokenId());
    }

    function _startTokenId() internal pure override returns (uint256) {
        return 1;
    }

    // Transfers and approvals

    /// Operators of the service count as approved while the collection's owner allows transfers.
    function isApprovedForAll(address holder, address operator) public view override returns (bool) {
        return
            super.isApprovedForAll(holder, operator) ||
            (enableTransfer && !isLocked && registry.isOperator(operator));
    }

    /// The service's operators may transfer but not approve: an approval would outlive their right.
    function approve(address to, uint256 tokenId) public payable override {
        _refuseValue();
        if (isLocked) revert TokenLocked();
        address holder = ownerOf(tokenId);
        if (msg.sender != holder && !super.isApprovedForAll(holder, msg.sender)) {
            revert ApprovalCallerNotOwnerNorApproved();
        }
        _approve(to, tokenId, false);
    }

    function setApprovalForAll(address operator, bool approved) public override {
        if (isLocked) revert TokenLocked();
        if (operator == address(0)) revert InvalidOperator();
        super.setApprovalForAll(operator, approved);
    }

    function _beforeTokenTransfers(address from, address, uint256, uint256) internal view override {
        if (from == address(0)) return;
        _refuseValue();
        if (isLocked) revert TokenLocked();
    }

    /// ERC-721 has payable functions; money sent to them could never leave this contract.
    function _refuseValue() private view {
        if (msg.value != 0) revert ValueNotAccepted();
    }

    function locked(uint256 tokenId) external view override returns (bool) {
        if (!_exists(tokenId)) revert OwnerQueryForNonexistentToken();
        return isLocked;
    }

    // Metadata

    /// `ipfs://<directory of the token's batch>/<index in the batch, from 0>.json`
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        if (!_exists(tokenId)) revert URIQueryForNonexistentToken();
        uint256 head = tokenId;
        bytes32 digest;
        while ((digest = _digests[head]) == 0) --head;
        string memory cid = MetadataText.directoryCid(digest);
        return string.concat("ipfs://", cid, "/", _toString(tokenId - head), ".json");
    }

    /// Metadata of the collection (ERC-7572): the owner's URI, else a data URI with the name.
    function contractURI() external view returns (string memory) {
        if (bytes(_contractURI).length != 0) return _contractURI;
        string memory json = string.concat('{"name":"', MetadataText.escapeJson(name()), '"}');
        return string.concat("data:application/json;base64,", Base64.encode(bytes(json)));
    }

    function setContractURI(string calldata uri) external onlyOwner {
        _contractURI = uri;
        emit ContractURIUpdated();
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC721AUpgradeable, ERC2981) returns (bool) {
        return
            ERC721AUpgradeable.supportsInterface(interfaceId) ||
            ERC2981.supportsInterface(interfaceId) ||
            interfaceId == 0x7f5828d0 || // ERC-173, ownership
            // A token that was never locked needs no lock event, so mints emit no Unlocked event.
            (isLocked && interfaceId == type(IERC5192).interfaceId);
    }

    // The owner's rights

    function owner() external view returns (address) {
        return _owner;
    }

    function transferOwnership(address newOwner) external onlyOwner {
        if (newOwner == address(0)) revert OwnableInvalidOwner(address(0));
        _setOwner(newOwner);
    }

    function renounceOwnership() external onlyOwner {
        _setOwner(address(0));
    }

    function setEnableApi(bool enabled) external onlyOwner {
        if (isRevoked) revert ServiceIsRevoked();
        _setEnableApi(enabled);
    }

    function setEnableTransfer(bool enabled) external onlyOwner {
        if (isRevoked) revert ServiceIsRevoked();
        _setEnableTransfer(enabled);
    }

    /// Permanently revokes all rights of the service. Afterwards nothing can be minted.
    function revokeService() external onlyOwner {
        if (isRevoked) revert ServiceIsRevoked();
        _setEnableApi(false);
        _setEnableTransfer(false);
        isRevoked = true;
        emit ServiceRevoked();
    }

    /// @param feeNumerator Royalty in parts of 10,000 of the sale price.
    function setDefaultRoyalty(address receiver, uint96 feeNumerator) external onlyOwner {
        _setDefaultRoyalty(receiver, feeNumerator);
    }

    function deleteDefaultRoyalty() external onlyOwner {
        _deleteDefaultRoyalty();
    }

    function _setOwner(address newOwner) private {
        address previous = _owner;
        _owner = newOwner;
        emit OwnershipTransferred(previous, newOwner);
    }

    function _setEnableApi(bool enabled) private {
        if (enableApi == enabled) return;
        enableApi = enabled;
        emit EnableApiChanged(enabled);
    }

    function _setEnableTransfer(bool enabled) private {
        if (enableTransfer == enabled) return;
        enableTransfer = enabled;
        emit EnableTransferChanged(enabled);
    }
}
