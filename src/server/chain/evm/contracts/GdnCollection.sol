// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC721AStorage} from "erc721a-upgradeable/contracts/ERC721AStorage.sol";
import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {CollectionInit} from "./CollectionInit.sol";
import {CollectionLifecycle, MetadataState} from "./CollectionLifecycle.sol";
import {CollectionState} from "./CollectionState.sol";
import {IERC5192} from "./IERC5192.sol";
import {IOperatorRegistry} from "./IOperatorRegistry.sol";
import {MetadataText} from "./MetadataText.sol";

/// A collection of NFTs: one clone of this contract for each. Its owner is the customer's wallet; the service's
/// operators mint while `enableApi` is on and move tokens while `enableTransfer` is on.
///
/// Tokens are minted in batches. The metadata files of a batch form one IPFS directory. Its 32-byte digest is stored at
/// the batch's first token ID, and is the only storage that a batch uses, regardless of its size.
///
/// The metadata of dynamic tokens is updated in batches as well, with a directory for each update. A token has the
/// sequence of its last update as its revision.
contract GdnCollection is ERC721AUpgradeable, ERC2981, IERC5192 {
    /// Maximum number of tokens in a batch, an update or a freeze. It bounds the walk from a token to its batch's head.
    uint256 public constant MAX_BATCH = 200;

    /// ERC721A writes one owner for a run of tokens, and the transfer of the last one pays for reading back to the
    /// first. Runs are split here: with a run of 200, that transfer would cost 532k gas.
    uint256 private constant MAX_RUN = 10;

    /// A slot has the revisions of 10 tokens, so that 50 tokens from the first on are 5 slots. 24 bits are 16 million
    /// updates of a collection.
    uint256 private constant SLOT_TOKENS = 10;
    uint256 private constant REVISION_BITS = 24;
    /// 1 in each place of a slot.
    uint256 private constant REVISION_ONES = type(uint240).max / type(uint24).max;

    /// The factory that deployed the implementation. It is stored in the code because every mint reads it.
    IOperatorRegistry public immutable registry;

    // Bits of `_flags`.
    uint256 private constant ENABLE_API = 1;
    uint256 private constant ENABLE_TRANSFER = 2;
    uint256 private constant REVOKED = 4;
    uint256 private constant LOCKED = 8;
    uint256 private constant DYNAMIC = 16;
    uint256 private constant ENABLE_BURN = 32;
    uint256 private constant FROZEN = 64;
    uint256 private constant HAS_FROZEN_TOKENS = 128;

    /// A slot of a mapping, whose place is computed once for a read and a write.
    struct Word {
        uint256 value;
    }

    // One storage slot, read once by every mint.
    address private _owner;
    uint8 private _flags;
    uint24 private _updateCount;
    /// How many tokens can ever be minted, including burned ones; 0 for any number.
    uint64 public maxSupply;

    mapping(uint256 batchHead => bytes32 digest) private _digests;
    /// sha2-256 of the IPFS directory with `<token ID>.json` of each token of an update.
    mapping(uint256 sequence => bytes32 digest) public updateDigest;
    /// SLOT_TOKENS tokens in a slot, from the first on, REVISION_BITS for each.
    mapping(uint256 slot => Word sequences) private _revisions;
    // 256 tokens in a slot.
    mapping(uint256 slot => uint256 bits) private _dynamicTokens;
    mapping(uint256 slot => uint256 bits) private _frozenTokens;
    /// The next token ID when a provenance hash was committed; 0 if it wasn't.
    mapping(bytes32 provenance => uint256 nextTokenId) public provenanceOf;
    address public pendingOwner;
    string private _contractURI;

    event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event EnableApiChanged(bool enabled);
    event EnableTransferChanged(bool enabled);
    event ServiceRevoked();
    event ContractURIUpdated();
    // ERC-4906
    event MetadataUpdate(uint256 _tokenId);
    event BatchMetadataUpdate(uint256 _fromTokenId, uint256 _toTokenId);
    event TokensFrozen(uint256 fromTokenId, uint256 toTokenId);
    event MetadataFrozen();
    event MaxSupplyChanged(uint256 previous, uint256 maxSupply);
    event ProvenanceCommitted(bytes32 indexed provenance, uint256 nextTokenId);

    error NotRegistry();
    error AlreadyInitialized();
    error NotOperator(address account);
    error ApiDisabled();
    error TransferDisabled();
    error ServiceIsRevoked();
    error StaleStartId(uint256 given, uint256 next);
    error StaleSequence(uint256 given, uint256 next);
    error MaxSupplyExceeded(uint256 maxSupply);
    error InvalidMaxSupply();
    error NotMinted(uint256 tokenId);
    error NotDynamic(uint256 tokenId);
    error TokenFrozen(uint256 tokenId);
    error MetadataIsFrozen();
    error AlreadyCommitted(bytes32 provenance);
    error NotHolder(address account);
    error BurnDisabled();
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
        _requireOwner();
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
        _flags = uint8(
            (init.enableApi ? ENABLE_API : 0) |
                (init.enableTransfer ? ENABLE_TRANSFER : 0) |
                (init.locked ? LOCKED : 0) |
                (init.dynamic ? DYNAMIC : 0) |
                (init.enableBurn ? ENABLE_BURN : 0)
        );
        maxSupply = init.maxSupply;
        if (init.royaltyBps != 0) _setDefaultRoyalty(init.royaltyReceiver, init.royaltyBps);
        _owner = init.owner;
        emit OwnershipTransferred(address(0), init.owner);
    }

    // Minting

    /// Mints `counts[i]` tokens to `receivers[i]`, with IDs from `startId` on.
    ///
    /// @param startId The ID that must be next, so that a second execution of the same call reverts.
    /// @param digest sha2-256 of the IPFS directory with `0.json`, `1.json`, … of this batch.
    function mint(uint256 startId, address[] calldata receivers, uint256[] calldata counts, bytes32 digest) external {
        _mintBatch(startId, receivers, counts, digest);
    }

    /// Mints as `mint` does, tokens whose metadata may be updated. In a dynamic collection all tokens are of that kind.
    function mintDynamic(
        uint256 startId,
        address[] calldata receivers,
        uint256[] calldata counts,
        bytes32 digest
    ) external {
        uint256 total = _mintBatch(startId, receivers, counts, digest);
        _setBits(_dynamicTokens, startId, total);
    }

    function _mintBatch(
        uint256 startId,
        address[] calldata receivers,
        uint256[] calldata counts,
        bytes32 digest
    ) private returns (uint256 total) {
        (bool isLocked_, uint256 max) = _openBatch(startId, receivers.length, digest);
        _requireLengths(receivers.length, counts.length);
        for (uint256 i; i < receivers.length; ++i) {
            uint256 count = counts[i];
            if (count > MAX_BATCH - total) revert BatchTooLarge();
            total += count;
            for (; count > MAX_RUN; count -= MAX_RUN) _mint(receivers[i], MAX_RUN);
            _mint(receivers[i], count);
        }
        _requireSupply(startId + total, max);
        if (isLocked_) {
            for (uint256 id = startId; id < startId + total; ++id) emit Locked(id);
        }
    }

    /// Mints a token to `sender` for each receiver and transfers it: two Transfer events per token, in order.
    function grant(uint256 startId, address sender, address[] calldata receivers, bytes32 digest) external {
        (bool isLocked_, uint256 max) = _openBatch(startId, receivers.length, digest);
        if (isLocked_) revert TokenLocked();
        if (!enableTransfer()) revert TransferDisabled();
        _requireSupply(startId + receivers.length, max);
        _mint(sender, receivers.length);
        for (uint256 i; i < receivers.length; ++i) transferFrom(sender, receivers[i], startId + i);
    }

    /// Rights are checked before the start ID, so that a caller without rights doesn't get an error that suggests a
    /// retry.
    ///
    /// @return isLocked_ Whether the collection is locked.
    /// @return max The collection's `maxSupply`.
    function _openBatch(
        uint256 startId,
        uint256 receivers,
        bytes32 digest
    ) private returns (bool isLocked_, uint256 max) {
        (isLocked_, max) = _requireService();
        if (startId != _nextTokenId()) revert StaleStartId(startId, _nextTokenId());
        if (receivers == 0) revert EmptyBatch();
        if (receivers > MAX_BATCH) revert BatchTooLarge();
        _requireDigest(digest);
        _digests[startId] = digest;
    }

    /// The tokens before `nextId` are no more than the collection may have.
    function _requireSupply(uint256 nextId, uint256 max) private pure {
        // Without a limit, max - 1 is the largest of all numbers here. The first ID is 1.
        unchecked {
            if (nextId - 2 > max - 1) revert MaxSupplyExceeded(max);
        }
    }

    /// The caller is an operator, and the collection's owner lets the service work. The flags and the limit are read
    /// together, so that the compiler reads their slot once.
    ///
    /// @return isLocked_ Whether the collection is locked.
    /// @return max The collection's `maxSupply`.
    function _requireService() private view returns (bool isLocked_, uint256 max) {
        uint256 flags = _flags;
        max = maxSupply;
        isLocked_ = flags & LOCKED != 0;
        if (flags & REVOKED != 0) revert ServiceIsRevoked();
        if (flags & ENABLE_API == 0) revert ApiDisabled();
        if (!registry.isOperator(msg.sender)) revert NotOperator(msg.sender);
    }

    function _requireLengths(uint256 a, uint256 b) private pure {
        if (a != b) revert LengthMismatch();
    }

    function _requireDigest(bytes32 digest) private pure {
        if (digest == 0) revert EmptyDigest();
    }

    function nextTokenId() external view returns (uint256) {
        return _nextTokenId();
    }

    function state() external view returns (CollectionState memory) {
        return CollectionState(_owner, enableApi(), enableTransfer(), isRevoked(), isLocked(), _nextTokenId(), maxSupply);
    }

    function _startTokenId() internal pure override returns (uint256) {
        return 1;
    }

    // Updates

    /// Updates the metadata of `counts[i]` tokens from `firsts[i]` on. Tokens that were burned are accepted, so that a
    /// holder can't prevent the update of others.
    ///
    /// @param sequence The number of this update in the collection, from 1, so that neither a second execution nor
    /// another order has an effect.
    /// @param digest sha2-256 of the IPFS directory with `<token ID>.json` of each token.
    function update(uint24 sequence, uint256[] calldata firsts, uint256[] calldata counts, bytes32 digest) external {
        _requireService();
        // Read together, so that the compiler reads their slot once.
        uint256 next = _updateCount;
        uint256 flags = _flags;
        // The bitmaps are read only where a token may be refused.
        bool areChecked = flags & (HAS_FROZEN_TOKENS | DYNAMIC) != DYNAMIC;
        if (flags & FROZEN != 0) revert MetadataIsFrozen();
        if (sequence != ++next) revert StaleSequence(sequence, next);
        _requireDigest(digest);
        _requireRuns(firsts, counts);
        _updateCount = sequence;
        updateDigest[sequence] = digest;
        // The sequence in each place of a slot.
        uint256 places = sequence * REVISION_ONES;
        uint256 left = MAX_BATCH;
        uint256 minted = _nextTokenId();
        for (uint256 i; i < firsts.length; ++i) {
            uint256 first = firsts[i];
            uint256 count = counts[i];
            left = _requireRun(first, count, left, minted);
            if (areChecked) _requireUpdatable(first, count);
            _setRevisions(first, count, places);
            if (count == 1) emit MetadataUpdate(first);
            else emit BatchMetadataUpdate(first, first + count - 1);
        }
    }

    /// Makes the metadata of tokens final.
    function freeze(uint256[] calldata firsts, uint256[] calldata counts) external {
        _requireService();
        _requireRuns(firsts, counts);
        _setFlag(HAS_FROZEN_TOKENS, true);
        uint256 left = MAX_BATCH;
        uint256 minted = _nextTokenId();
        for (uint256 i; i < firsts.length; ++i) {
            uint256 first = firsts[i];
            uint256 count = counts[i];
            left = _requireRun(first, count, left, minted);
            _setBits(_frozenTokens, first, count);
            emit TokensFrozen(first, first + count - 1);
        }
    }

    /// Makes the metadata of all tokens final, including those that will be minted.
    function freezeMetadata() external onlyOwner {
        _setFlag(FROZEN, true);
        emit MetadataFrozen();
    }

    /// Records a hash that commits to metadata which is revealed later, and that it was committed before the next token
    /// was minted.
    function commitProvenance(bytes32 provenance) external {
        _requireService();
        _requireDigest(provenance);
        if (provenanceOf[provenance] != 0) revert AlreadyCommitted(provenance);
        provenanceOf[provenance] = _nextTokenId();
        emit ProvenanceCommitted(provenance, _nextTokenId());
    }

    function lifecycle() external view returns (CollectionLifecycle memory) {
        return CollectionLifecycle(2, _is(DYNAMIC), _is(ENABLE_BURN), isFrozen(), _updateCount, pendingOwner);
    }

    function metadataState(uint256 tokenId) external view returns (MetadataState memory) {
        return
            MetadataState(
                _revisionOf(tokenId),
                _is(DYNAMIC) || _has(_dynamicTokens, tokenId),
                isFrozen() || _has(_frozenTokens, tokenId)
            );
    }

    /// There is at least one run, and as many counts as first tokens.
    function _requireRuns(uint256[] calldata firsts, uint256[] calldata counts) private pure {
        if (firsts.length == 0) revert EmptyBatch();
        _requireLengths(firsts.length, counts.length);
    }

    /// All tokens of the run were minted, and no more than `left` are in it and the runs after it.
    ///
    /// @return How many are left for those.
    function _requireRun(uint256 first, uint256 count, uint256 left, uint256 minted) private pure returns (uint256) {
        // 0 - 1 is the largest of all numbers here.
        unchecked {
            if (count - 1 >= left) {
                if (count == 0) revert EmptyBatch();
                revert BatchTooLarge();
            }
            if (first - _startTokenId() >= minted - _startTokenId()) revert NotMinted(first);
            if (count > minted - first) revert NotMinted(minted);
            return left - count;
        }
    }

    function _revisionOf(uint256 tokenId) private view returns (uint24) {
        uint256 place = tokenId - _startTokenId();
        return uint24(_revisions[place / SLOT_TOKENS].value >> ((place % SLOT_TOKENS) * REVISION_BITS));
    }

    /// Writes the revisions of consecutive tokens, each slot once.
    ///
    /// @param places The sequence in each place of a slot.
    function _setRevisions(uint256 tokenId, uint256 count, uint256 places) private {
        unchecked {
            uint256 place = tokenId - _startTokenId();
            do {
                uint256 from = place % SLOT_TOKENS;
                uint256 length = SLOT_TOKENS - from;
                if (length > count) length = count;
                uint256 mask = ((1 << (length * REVISION_BITS)) - 1) << (from * REVISION_BITS);
                Word storage slot = _revisions[place / SLOT_TOKENS];
                slot.value = (slot.value & ~mask) | (places & mask);
                place += length;
                count -= length;
            } while (count != 0);
        }
    }

    function _requireUpdatable(uint256 tokenId, uint256 count) private view {
        uint256 refused = _is(DYNAMIC) ? 0 : _find(_dynamicTokens, tokenId, count, false);
        if (refused != 0) revert NotDynamic(refused);
        refused = _find(_frozenTokens, tokenId, count, true);
        if (refused != 0) revert TokenFrozen(refused);
    }

    /// Returns the first of consecutive tokens that is in the bitmap, or that isn't; 0 if there is none.
    function _find(
        mapping(uint256 => uint256) storage bitmap,
        uint256 tokenId,
        uint256 count,
        bool isIn
    ) private view returns (uint256) {
        unchecked {
            uint256 end = tokenId + count;
            while (tokenId < end) {
                uint256 stop = (tokenId | 255) + 1;
                if (stop > end) stop = end;
                uint256 found = isIn ? bitmap[tokenId >> 8] : ~bitmap[tokenId >> 8];
                found = (found >> (tokenId & 255)) & ((1 << (stop - tokenId)) - 1);
                if (found != 0) {
                    for (; found & 1 == 0; found >>= 1) ++tokenId;
                    return tokenId;
                }
                tokenId = stop;
            }
            return 0;
        }
    }

    function _has(mapping(uint256 => uint256) storage bitmap, uint256 tokenId) private view returns (bool) {
        return bitmap[tokenId >> 8] & (1 << (tokenId & 255)) != 0;
    }

    function _setBits(mapping(uint256 => uint256) storage bitmap, uint256 first, uint256 count) private {
        uint256 end = first + count;
        for (uint256 id = first; id < end; ) {
            uint256 next = (id | 255) + 1;
            if (next > end) next = end;
            bitmap[id >> 8] |= ((1 << (next - id)) - 1) << (id & 255);
            id = next;
        }
    }

    // Burning

    /// Burns a token. Its holder may always, also in a locked collection. The service's operators may where the
    /// collection was created for it: neither an approval nor the right to transfer is consent to burning.
    ///
    /// @param holder The account that must hold the token, so that a burn that comes late doesn't take another's.
    function burn(address holder, uint256 tokenId) external {
        if (ownerOf(tokenId) != holder) revert NotHolder(holder);
        if (msg.sender != holder) {
            _requireService();
            if (!_is(ENABLE_BURN)) revert BurnDisabled();
        }
        _burn(tokenId);
    }

    // Transfers and approvals

    /// Operators of the service count as approved while the collection's owner allows transfers.
    function isApprovedForAll(address holder, address operator) public view override returns (bool) {
        return
            super.isApprovedForAll(holder, operator) ||
            (enableTransfer() && !isLocked() && registry.isOperator(operator));
    }

    /// The service's operators may transfer but not approve: an approval would outlive their right.
    function approve(address to, uint256 tokenId) public payable override {
        _refuseValue();
        _requireUnlocked();
        address holder = ownerOf(tokenId);
        if (msg.sender != holder && !super.isApprovedForAll(holder, msg.sender)) {
            revert ApprovalCallerNotOwnerNorApproved();
        }
        _approve(to, tokenId, false);
    }

    function setApprovalForAll(address operator, bool approved) public override {
        _requireUnlocked();
        if (operator == address(0)) revert InvalidOperator();
        super.setApprovalForAll(operator, approved);
    }

    function _beforeTokenTransfers(address from, address to, uint256, uint256) internal view override {
        if (from == address(0)) return;
        _refuseValue();
        if (to != address(0)) _requireUnlocked();
    }

    function _requireUnlocked() private view {
        if (isLocked()) revert TokenLocked();
    }

    /// ERC-721 has payable functions; money sent to them could never leave this contract.
    function _refuseValue() private view {
        if (msg.value != 0) revert ValueNotAccepted();
    }

    function locked(uint256 tokenId) external view override returns (bool) {
        if (!_exists(tokenId)) revert OwnerQueryForNonexistentToken();
        return isLocked();
    }

    // Metadata

    /// `ipfs://<directory of the token's last update>/<token ID>.json`, and before any update
    /// `ipfs://<directory of the token's batch>/<index in the batch, from 0>.json`
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        if (!_exists(tokenId)) revert URIQueryForNonexistentToken();
        bytes32 digest = updateDigest[_revisionOf(tokenId)];
        uint256 name = tokenId;
        if (digest == 0) {
            uint256 head = tokenId;
            while ((digest = _digests[head]) == 0) --head;
            name = tokenId - head;
        }
        return string.concat("ipfs://", MetadataText.directoryCid(digest), "/", _toString(name), ".json");
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
            interfaceId == 0x49064906 || // ERC-4906, metadata updates
            // A token that was never locked needs no lock event, so mints emit no Unlocked event.
            (isLocked() && interfaceId == type(IERC5192).interfaceId);
    }

    // The owner's rights

    function owner() external view returns (address) {
        return _owner;
    }

    function enableApi() public view returns (bool) {
        return _is(ENABLE_API);
    }

    function enableTransfer() public view returns (bool) {
        return _is(ENABLE_TRANSFER);
    }

    function isRevoked() public view returns (bool) {
        return _is(REVOKED);
    }

    function isLocked() public view returns (bool) {
        return _is(LOCKED);
    }

    function isFrozen() public view returns (bool) {
        return _is(FROZEN);
    }

    /// Offers the ownership to an account, which has to accept it, so that a mistyped address changes nothing. The zero
    /// address takes the offer back.
    function transferOwnership(address newOwner) external onlyOwner {
        pendingOwner = newOwner;
        emit OwnershipTransferStarted(_owner, newOwner);
    }

    function acceptOwnership() external {
        if (msg.sender != pendingOwner) revert OwnableUnauthorizedAccount(msg.sender);
        _setOwner(msg.sender);
    }

    function renounceOwnership() external onlyOwner {
        _setOwner(address(0));
    }

    function setEnableApi(bool enabled) external onlyOwner {
        _requireNotRevoked();
        _setEnableApi(enabled);
    }

    function setEnableTransfer(bool enabled) external onlyOwner {
        _requireNotRevoked();
        _setEnableTransfer(enabled);
    }

    /// Permanently revokes all rights of the service. Afterwards nothing can be minted.
    function revokeService() external onlyOwner {
        _requireNotRevoked();
        _setEnableApi(false);
        _setEnableTransfer(false);
        _setFlag(REVOKED, true);
        emit ServiceRevoked();
    }

    /// @param feeNumerator Royalty in parts of 10,000 of the sale price.
    function setDefaultRoyalty(address receiver, uint96 feeNumerator) external onlyOwner {
        _setDefaultRoyalty(receiver, feeNumerator);
    }

    function deleteDefaultRoyalty() external onlyOwner {
        _deleteDefaultRoyalty();
    }

    /// Lowers the number of tokens that can ever be minted. It can't be raised, and burned tokens give nothing back.
    function setMaxSupply(uint64 newMaxSupply) external onlyOwner {
        uint256 previous = maxSupply;
        unchecked {
            // 0 - 1 is the largest of all numbers here: no limit is above all others, and 0 can't be set.
            if (uint256(newMaxSupply) - 1 >= previous - 1 || newMaxSupply < _nextTokenId() - _startTokenId()) {
                revert InvalidMaxSupply();
            }
        }
        maxSupply = newMaxSupply;
        emit MaxSupplyChanged(previous, newMaxSupply);
    }

    /// A function, because the code of a modifier is copied to each function that has it.
    function _requireOwner() private view {
        if (msg.sender != _owner) revert OwnableUnauthorizedAccount(msg.sender);
    }

    function _requireNotRevoked() private view {
        if (_is(REVOKED)) revert ServiceIsRevoked();
    }

    function _is(uint256 flag) private view returns (bool) {
        return _flags & flag != 0;
    }

    /// @return isChanged Whether the flag had the other value.
    function _setFlag(uint256 flag, bool enabled) private returns (bool isChanged) {
        isChanged = _is(flag) != enabled;
        if (isChanged) _flags ^= uint8(flag);
    }

    function _setOwner(address newOwner) private {
        address previous = _owner;
        _owner = newOwner;
        pendingOwner = address(0);
        emit OwnershipTransferred(previous, newOwner);
    }

    function _setEnableApi(bool enabled) private {
        if (_setFlag(ENABLE_API, enabled)) emit EnableApiChanged(enabled);
    }

    function _setEnableTransfer(bool enabled) private {
        if (_setFlag(ENABLE_TRANSFER, enabled)) emit EnableTransferChanged(enabled);
    }
}
